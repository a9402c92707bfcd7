import CRDTCore
import DocStore

/// What the two halves of a session share: the store, the peer, and what is to be done outside.
final class SessionContext {
  let id: UInt64
  let store: Store
  let gate: any SyncGate
  let shared: SessionShared
  let configuration: SessionConfiguration
  var stepLength = StepLength.long
  var now: Duration = .zero
  var lastSent: Duration = .zero
  /// After this long without a frame the peer takes the link for dead.
  var peerSilence = SessionConfiguration.usualSilence
  /// What the peer said of its clock in its hello.
  var peerHighest: ClockReading?
  var peer: PeerInfo? {
    didSet { gatekeeper = peer.map { Gatekeeper(gate: gate, peer: $0.kind) } }
  }
  /// The gate as it stands towards this peer; before hello it lets nothing through.
  private(set) var gatekeeper: Gatekeeper?
  private var policyEpoch: UInt64
  /// How frames to this peer are written.
  var frameForm: FrameForm { features.contains(.compactFrames) ? .compact : .long }
  /// Whether the checksums of frames after hello say which frame they are of.
  private var numbersFrames: Bool {
    features.contains(.numberedFrames) && !Probe.defect(.framesNotNumbered)
  }
  var statistics = SyncStatistics()
  var roundTrip = RoundTrip()
  /// Bytes of frames that call for an answer.
  private(set) var askedBytes: UInt64 = 0
  /// The numbers of the next frame in each direction, where frames are numbered: of those after both hellos.
  private var nextSent: UInt32 = 0
  private(set) var nextReceived: UInt32 = 0
  private var actions: [Action] = []
  private var toldOversize: Set<DocumentKey> = []
  private var toldRefused: Set<TextKey> = []
  var unreadable = Unreadable()

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

  /// Whether the gate lets through what it did when the session last looked.
  var isPolicyCurrent: Bool { gate.epoch == policyEpoch }

  /// Takes note of what the gate lets through now.
  func notePolicy() { policyEpoch = gate.epoch }

  var tuning: SyncTuning { configuration.tuning }

  /// How long a quiet link may be quiet in this direction: the peer has little to answer while it sends something long.
  var pingInterval: Duration { min(configuration.silence / 3, max(peerSilence / 3, .milliseconds(500))) }

  /// What both sides are able to do; nothing before hello.
  private(set) var features: Features = []

  /// Stands for all that the gate lets through to this peer; never 0.
  var policyPrint: UInt64 {
    guard let peer else { return 0 }
    if Probe.defect(.policyPrintForgotten) { return 1 }
    return max(gate.fingerprint(toward: peer.kind), 1)
  }

  func send(_ frame: consuming [UInt8]) {
    if numbersFrames {
      FrameCodec.number(&frame, as: nextSent)
      nextSent &+= 1
    }
    statistics.framesSent += 1
    statistics.bytesSent += UInt64(frame.count)
    lastSent = now
    actions.append(.send(frame))
  }

  func send(_ type: FrameType, _ body: (inout ByteWriter) -> Void = { _ in }) {
    roundTrip.didSend(type, now: now)
    let frame = FrameCodec.frame(type, in: frameForm, body)
    switch type {
    case .compare, .want, .have, .announce: askedBytes += UInt64(frame.count)
    default: break
    }
    send(frame)
  }

  /// Takes note of a whole frame that came under the abilities of now.
  func didReceiveFrame() {
    if numbersFrames { nextReceived &+= 1 }
  }

  func settle(on features: Features) { self.features = features }

  func ask(_ action: Action) { actions.append(action) }

  func tell(_ event: SyncEvent) { actions.append(.event(event)) }

  func tellOversize(_ key: DocumentKey, in collection: String, byteCount: Int) {
    if toldOversize.insert(key).inserted {
      tell(.oversize(collection: collection, id: key.id, byteCount: byteCount))
    }
  }

  func tellRefused(_ collection: String, _ reason: String) {
    guard toldRefused.count < 1_024, toldRefused.insert(collection).inserted else { return }
    tell(.refused(collection: collection, reason: reason))
  }

  func takeActions() -> [Action] {
    defer { actions = [] }
    return actions
  }

  /// Reads a snapshot of the store; what the store throws ends the session.
  func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws(SyncError) -> R {
    do { return try store.read(body) } catch { throw SyncError(store: error) }
  }
}
