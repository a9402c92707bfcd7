import DocStore
import Failpoints

/// A reconciliation that the receiver has begun.
///
/// It has the questions and the requests, and tracks how much of them is answered.
struct ServedReconciliation {
  enum Phase {
    /// No reconciliation has begun, or it was broken off.
    case idle
    /// The receiver sends questions and requests.
    case asking
    /// The receiver has sent its last question and request.
    case asked(at: Duration)
    /// Everything that the receiver lacks is queued; the settled frame follows once it is sent.
    case closing
    /// The settled frame was sent.
    case closed

    /// Whether a phase may follow this one; a reconciliation may be broken off in each.
    func mayLead(to next: Phase) -> Bool {
      switch (self, next) {
      case (.idle, .idle), (.asking, .idle), (.asked, .idle), (.closing, .idle), (.closed, .idle): true
      case (.idle, .asking), (.asking, .asked), (.asked, .closing), (.closing, .closed): true
      case (.idle, .asked), (.idle, .closing), (.idle, .closed): false
      case (.asking, .asking), (.asking, .closing), (.asking, .closed): false
      case (.asked, .asking), (.asked, .asked), (.asked, .closed): false
      case (.closing, .asking), (.closing, .asked), (.closing, .closing): false
      case (.closed, .asking), (.closed, .asked), (.closed, .closing), (.closed, .closed): false
      }
    }
  }

  /// The number that the receiver has given to it; 0 before the first one.
  private(set) var number: UInt64 = 0
  private(set) var phase = Phase.idle
  /// Whether the receiver began the reconciliation before it had read a renew frame.
  ///
  /// Then its questions are refused and its requests are ignored.
  ///
  /// It may cover some collections only, so that parts of transactions would be sent.
  private(set) var isVoid = false
  /// The number of the last document, and the last commit, when it began.
  private(set) var lastDocument = DocumentNumber(0)
  private(set) var start: UInt64 = 0
  var responder = RangeResponder()
  /// Ranges in which the receiver has nothing, and how much of them is sent.
  var streams = RangeSet()
  var streamWalks = WorkQueue<StreamWalk>()
  /// How many documents these ranges are expected to have.
  var forecast = StreamForecast()
  var wanted = WorkQueue<DocumentRequest>()
  /// Bytes of the requests that are not examined yet, and of those that wait for their closure.
  var wantedCost = 0
  var gatheredCost = 0
  var pass = ClosurePass()

  init() {}

  /// Begins a reconciliation; the one before it was broken off.
  ///
  /// Toward a peer that may not read everything, its frames are cut by their content (`cutsByContent`).
  mutating func begin(
    _ number: UInt64, isVoid: Bool, start: UInt64, lastDocument: DocumentNumber, cutsByContent: Bool
  ) {
    enter(.asking)
    self.number = number
    self.isVoid = isVoid
    self.start = start
    self.lastDocument = lastDocument
    responder = RangeResponder(records: Int(lastDocument.rawValue), cutsByContent: cutsByContent)
  }

  /// Whether questions or requests are still open, or documents are still to be queued.
  var isActive: Bool {
    switch phase {
    case .asking, .asked: true
    case .idle, .closing, .closed: false
    }
  }

  /// Whether the receiver has sent its last question and request.
  var isAsked: Bool {
    switch phase {
    case .asked, .closing, .closed: true
    case .idle, .asking: false
    }
  }

  /// When the receiver sent its last question and request, while documents are still to be queued.
  var askedAt: Duration? { if case .asked(let time) = phase { time } else { nil } }
  /// Whether it has begun, and not everything is sent.
  var isRunning: Bool { isActive || isClosing }
  /// Whether everything is queued, and not everything is sent.
  var isClosing: Bool { if case .closing = phase { true } else { false } }

  /// Goes on to the next phase.
  private mutating func enter(_ next: Phase) {
    let phase = phase
    check(.transition, phase.mayLead(to: next), phase: "serving \(phase)", "it leads to \(next)")
    self.phase = next
  }

  /// Records that the receiver has sent its last question and request.
  mutating func noteAsked(now: Duration) { if case .asking = phase { enter(.asked(at: now)) } }

  /// Records that everything is queued; the reconciliation ends when that is sent.
  mutating func finish() {
    enter(.closing)
    responder.forgetDigests()
    pass = ClosurePass()
  }

  /// Ends the reconciliation with this number, now that everything is sent.
  ///
  /// - Returns: Whether it ended now; `false` if it was broken off.
  mutating func close(_ number: UInt64) -> Bool {
    guard case .closing = phase, number == self.number else { return false }
    enter(.closed)
    return true
  }

  /// Breaks it off; the receiver begins another one if it needs to.
  mutating func breakOff() {
    enter(.idle)
    let former = self
    self = ServedReconciliation()
    (number, isVoid) = (former.number, former.isVoid)
    (start, lastDocument) = (former.start, former.lastDocument)
  }
}
