import CRDTCore
import DocStore
import Failpoints

/// What both halves of a session share: the store, the peer, and the queued actions.
final class SessionContext {
  let id: UInt64
  let store: Store
  let gate: any SyncGate
  let shared: SessionShared
  let configuration: SessionConfiguration
  var stepLength = StepLength.long
  private(set) var now: Duration = .zero
  /// The remaining time of this step for the peer's frames, in records that could be visited.
  private var inputBudget = 0
  private(set) var lastSent: Duration = .zero
  /// The peer's hello, once it has come.
  var hello: Hello?
  /// What the peer's grant lets it do: nothing until it is admitted; known before `peer`.
  var access = PeerAccess.nothing
  var peer: PeerInfo? {
    didSet { gatekeeper = peer.map { Gatekeeper(gate: gate, peer: $0.kind, access: access) } }
  }
  /// The gate for this peer; nothing passes before hello.
  private(set) var gatekeeper: Gatekeeper?
  private var policyEpoch: UInt64
  var statistics = SyncStatistics()
  var roundTrip = RoundTrip()
  /// Bytes of sent frames that require an answer.
  private(set) var askedBytes: UInt64 = 0
  /// The number of the next frame in each direction, from 0 after the first frame; `nil` before it.
  private var nextNumbers: (sent: UInt32?, received: UInt32?)
  private var actions: [Action] = []
  /// What was reported to the application, once each: too large documents, and refused collections.
  ///
  /// Each refused collection has its reason.
  private var reported: (oversize: Set<DocumentKey>, refused: Set<[TextKey]>) = ([], [])
  var unreadable = Unreadable()
  var withheld = Withheld()
  #if DEBUG || SIMULATION
    /// The observer that sees both ends of the link; it is called with what this session does.
    var watch: ((SessionFact) -> Void)?
    /// How many transactions were queued, and how many of these sent or dropped.
    var counts: () -> (queued: SessionFact.Count, gone: SessionFact.Count) = {
      (SessionFact.Count(small: 0, large: 0), SessionFact.Count(small: 0, large: 0))
    }
  #endif

  init(
    id: UInt64, store: Store, gate: any SyncGate, shared: SessionShared, configuration: SessionConfiguration
  ) {
    self.id = id
    self.store = store
    self.gate = gate
    self.shared = shared
    self.configuration = configuration
    policyEpoch = gate.epoch
  }

  /// Begins a step.
  func beginStep(_ now: Duration) {
    self.now = now
    inputBudget = recordsPerCall
  }

  /// Whether this step has time for another frame.
  var hasTime: Bool { inputBudget > 0 }

  /// Returns whether this step has time for a frame of the given cost.
  ///
  /// A frame may exceed what is left of the budget; in a prompt step its cost may not exceed a whole call's
  /// budget.
  func hasTime(for cost: Int) -> Bool { hasTime && (stepLength != .prompt || cost <= recordsPerCall) }

  /// Charges the cost of a frame.
  func spend(_ cost: Int) { inputBudget -= cost }

  /// Whether the gate's policy is unchanged since the session last checked it.
  var isPolicyCurrent: Bool { gate.epoch == policyEpoch }

  /// Records the current epoch of the gate.
  func notePolicy() { policyEpoch = gate.epoch }

  var tuning: SyncTuning { configuration.tuning }

  /// The highest HLC timestamp in the peer's hello.
  var peerHighest: ClockReading? { hello?.highest }
  /// The peer considers the link dead after this long without a frame.
  private var peerSilence: Duration { hello?.silence ?? SessionConfiguration.usualSilence }

  /// The interval between pings: a peer that sends something long has little reason to answer.
  var pingInterval: Duration { min(configuration.silence / 3, max(peerSilence / 3, .milliseconds(500))) }

  /// The fingerprint of the policy toward this peer, its grant included; never 0.
  var policyHash: UInt64 {
    guard let peer else { return 0 }
    if SyncDefect.policyPrintForgotten.isPlanted { return 1 }
    return max(gate.fingerprint(toward: peer.kind) ^ access.fingerprint, 1)
  }

  func send(_ frame: consuming [UInt8]) {
    let byteCount = frame.count
    check(
      .sync(9), byteCount <= SyncLimits.frameBytes + 3, phase: "sending",
      "a frame of \(byteCount) bytes, which every peer refuses")
    if let number = nextNumbers.sent { FrameCodec.number(&frame, as: number) }
    nextNumbers.sent = number(after: nextNumbers.sent)
    statistics.framesSent += 1
    statistics.bytesSent += UInt64(frame.count)
    lastSent = now
    actions.append(.send(frame))
  }

  func send(_ type: FrameType, _ body: (inout ByteWriter) -> Void = { _ in }) {
    roundTrip.didSend(type, now: now)
    #if DEBUG || SIMULATION
      if let watch {
        let (queued, gone) = counts()
        watch(.sent(type, queued: queued, gone: gone))
      }
    #endif
    let frame = FrameCodec.frame(type, isFirst: nextNumbers.sent == nil, body)
    switch type {
    case .compare, .want, .have, .announce: askedBytes += UInt64(frame.count)
    default: break
    }
    send(frame)
  }

  /// Counts a complete frame.
  func didReceiveFrame() { nextNumbers.received = number(after: nextNumbers.received) }

  /// The number of the next frame to be received; `nil` before the first.
  var nextReceived: UInt32? { nextNumbers.received }

  private func number(after number: UInt32?) -> UInt32 {
    guard let number, !SyncDefect.framesNotNumbered.isPlanted else { return 0 }
    return number &+ 1
  }

  func ask(_ action: Action) { actions.append(action) }

  func report(_ event: SyncEvent) { actions.append(.event(event)) }

  func reportOversize(_ key: DocumentKey, in collection: String, byteCount: Int) {
    if reported.oversize.insert(key).inserted {
      report(.oversize(collection: collection, id: key.id, byteCount: byteCount))
    }
  }

  func reportRefused(_ collection: String, _ reason: String) {
    guard reported.refused.count < 1_024,
      reported.refused.insert([TextKey(collection), TextKey(reason)]).inserted
    else { return }
    report(.refused(collection: collection, reason: reason))
  }

  func removeActions() -> [Action] {
    defer { actions = [] }
    return actions
  }

  /// Reads a snapshot of the store; an error of the store ends the session.
  func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws(SyncError) -> R {
    do { return try store.read(body) } catch { throw SyncError(store: error) }
  }

  // MARK: - The length of a call

  /// How many records a call visits.
  var recordsPerCall: Int {
    switch stepLength {
    case .prompt, .shared: min(tuning.calls.promptRecords, tuning.calls.records)
    case .long: tuning.calls.records
    }
  }

  /// How many plain bytes a call packs.
  var bytesPerCall: Int {
    switch stepLength {
    case .prompt, .shared: min(tuning.calls.promptBytes, tuning.calls.bytes)
    case .long: tuning.calls.bytes
    }
  }
}
