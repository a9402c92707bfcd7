import DocStore

/// A reconciliation that the receiver has begun: its questions, what it asked for, and how far that has gone out.
struct ServedReconciliation {
  private enum Phase {
    /// None has begun, or it was broken off.
    case idle
    /// The receiver asks.
    case asking
    /// It has asked all that it will.
    case asked(at: Duration)
    /// All that it was found to lack is queued; when so much has gone out it is told.
    case closing(after: SendQueue.Progress)
    /// It was told.
    case closed
  }

  /// Its number at the receiver; 0 before there was one.
  private(set) var number: UInt64 = 0
  private var phase = Phase.idle
  /// Whether the receiver began it before it had heard that it is to compare all: it is told, and gets, nothing in it.
  ///
  /// It need not be of everything, so that what transactions bind would go out in part.
  private(set) var isVoid = false
  /// The last document that there was when it began.
  private(set) var lastDocument = DocumentNumber(0)
  var responder = RangeResponder()
  /// Ranges of which the receiver has nothing, and how far they have gone out.
  var streams = RangeSet()
  var streamWalks = WorkQueue<StreamWalk>()
  var wanted = WorkQueue<DocumentRequest>()
  /// Bytes of what was wanted, before it is looked at and while it waits for what it belongs to.
  var wantedCost = 0
  var gatheredCost = 0
  var pass = ComponentPass()

  init() {}

  /// Begins one, when the last document of the store has this number.
  init(_ number: UInt64, isVoid: Bool, lastDocument: DocumentNumber) {
    self.number = number
    self.isVoid = isVoid
    self.lastDocument = lastDocument
    phase = .asking
    responder = RangeResponder(records: Int(lastDocument.rawValue))
  }

  /// Whether something of it is to be asked, or to be queued.
  var isActive: Bool {
    switch phase {
    case .asking, .asked: true
    case .idle, .closing, .closed: false
    }
  }

  /// Whether the receiver has asked and wanted all that it will.
  var isAsked: Bool {
    switch phase {
    case .asked, .closing, .closed: true
    case .idle, .asking: false
    }
  }

  /// When it had, while something is to be queued.
  var askedAt: Duration? { if case .asked(let time) = phase { time } else { nil } }
  /// Whether all is queued, and not all has gone out.
  var isClosing: Bool { if case .closing = phase { true } else { false } }

  /// Takes note that the receiver has asked all.
  mutating func noteAsked(now: Duration) { if case .asking = phase { phase = .asked(at: now) } }

  /// Takes note that all is queued; when so much has gone out it is over.
  mutating func finish(after progress: SendQueue.Progress) {
    phase = .closing(after: progress)
    responder.forgetDigests()
    pass = ComponentPass()
  }

  /// Ends it when all has gone out.
  ///
  /// - Returns: Whether that is so now.
  mutating func close(gone: SendQueue.Progress) -> Bool {
    guard case .closing(let progress) = phase, gone.covers(progress) else { return false }
    phase = .closed
    return true
  }

  /// Breaks it off; the receiver begins another one if it needs to.
  mutating func breakOff() {
    let (number, isVoid, lastDocument) = (number, isVoid, lastDocument)
    self = ServedReconciliation()
    (self.number, self.isVoid, self.lastDocument) = (number, isVoid, lastDocument)
  }
}
