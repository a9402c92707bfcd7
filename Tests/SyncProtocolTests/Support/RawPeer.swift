import CRDTCore
import DocStore
import QueryEngine
import SyncProtocol
import TestKit

/// A session against a peer that is played by hand, with a real store.
final class RawPeer {
  let network: TestNetwork
  let peer: TestPeer
  let session: Session
  var now: Duration = .seconds(1)
  var frames: [(type: FrameType, payload: [UInt8])] = []
  var closed: SyncError?
  var events: [SyncEvent] = []
  var batches: [ApplyBatch] = []
  /// What the last of them came to.
  private(set) var outcome: ApplyOutcome?
  /// Whether a session that has more to do is called at once, again and again.
  var ticksAtOnce = true
  var nudged: [UInt64] = []
  /// What was asked about the peer, which nobody answers.
  var admissions: [AdmissionAction] = []
  var presences: [SignedPresence] = []
  /// The number of the next frame that the subject is sent; `nil` before the first.
  private var nextNumber: UInt32?
  /// What came of the statement that the other peer was asked to run.
  var rows: [QueryRow] = []
  var rowsEnd: QueryEnd?

  /// Makes a subject; a `gate` takes the place of its scopes.
  convenience init(
    named name: String = "subject", gate: (any SyncGate)? = nil,
    _ configure: (inout SessionConfiguration) -> Void = { _ in }
  ) throws {
    let network = TestNetwork()
    self.init(network, try network.addPeer(name), id: 1, gate: gate, configure)
  }

  /// A later session of the same subject.
  convenience init(on earlier: RawPeer, _ configure: (inout SessionConfiguration) -> Void = { _ in }) {
    self.init(earlier.network, earlier.peer, id: earlier.session.id + 1, configure)
  }

  private init(
    _ network: TestNetwork, _ peer: TestPeer, id: UInt64, gate: (any SyncGate)? = nil,
    _ configure: (inout SessionConfiguration) -> Void = { _ in }
  ) {
    self.network = network
    self.peer = peer
    var configuration = SessionConfiguration(kind: .small, peerName: "subject", appID: "test", random: { 42 })
    configuration.access = .everything
    configuration.answersRemoteQueries = true
    configure(&configuration)
    session = Session(
      id: id, store: peer.store, gate: gate ?? peer.scopes, shared: peer.shared, configuration: configuration)
    perform(session.subscriptionsChanged(peer.queries, now: now))
  }

  static let hello = Hello(
    versions: SyncLimits.versions, kind: .small, appID: "test", peerName: "hand",
    site: SiteID(high: 0xABC, low: 1), logEpoch: 5)

  func start() { perform(session.start(now: now)) }

  /// Starts and says hello, as one of several peers.
  func open(subscribing texts: String..., as number: UInt64 = 1) throws {
    for text in texts { try peer.subscribe(text) }
    perform(session.subscriptionsChanged(peer.queries, now: now))
    start()
    var hello = Self.hello
    hello.site = SiteID(high: hello.site.high, low: number)
    send(.hello) { hello.encode(to: &$0) }
  }

  /// Sends so much of a group that comes as a transfer of its own.
  func sendBeginning(_ bytes: [UInt8], of transactionBytes: Int) {
    send(.chunk) { out in
      out.write(1)
      for number in [1, transactionBytes, 0, bytes.count] { out.writeVarint(number) }
      out.write(bytes)
    }
  }

  func send(_ type: FrameType, _ body: (inout ByteWriter) -> Void = { _ in }) {
    receive(frames: FrameCodec.frame(type, isFirst: nextNumber == nil, body))
  }

  /// Numbers whole frames that have no numbers yet, and takes them.
  func receive(frames: [UInt8]) {
    var stream: [UInt8] = []
    while let bounds = try? FrameCodec.bounds(in: frames.span.bytes, at: stream.count) {
      var frame = Array(frames[stream.count..<bounds.end])
      FrameCodec.number(&frame, as: nextNumber ?? 0)
      nextNumber = nextNumber.map { $0 + 1 } ?? 0
      stream += frame
    }
    receive(stream)
  }

  /// Numbers a whole frame, and takes it in two pieces of which the first has so many bytes.
  func receiveInPieces(_ frame: [UInt8], of count: Int) {
    var frame = frame
    FrameCodec.number(&frame, as: nextNumber ?? 0)
    nextNumber = nextNumber.map { $0 + 1 } ?? 0
    receive(Array(frame[..<count]))
    receive(Array(frame[count...]))
  }

  /// Subscribes to what the subject has.
  func sendInterest(_ text: String, generation: UInt64 = 1) throws {
    var query = ByteWriter()
    try SubscriptionQuery(dql: text).encode(to: &query)
    send(.interest) { out in
      out.writeVarint(generation)
      out.write(3 as UInt8)
      out.writeVarint(1)
      out.writeBlob(query.bytes)
    }
  }

  /// Compares all things, in a first reconciliation that asks nothing more.
  func compareThings() {
    send(.compare) { out in
      out.writeVarint(1)
      out.writeVarint(1)
      RangeQuestion.everything(1, KeyRange(collection: "things")).encode(to: &out)
    }
    send(.asked) { $0.writeVarint(1) }
  }

  /// Sends a whole document of things, as a group of its own.
  func sendDocument(_ id: String, _ fields: [TextKey: Value], at clock: ManualClock = ManualClock()) throws {
    try sendDocument(id, wire: GoldenMessages.wireDocument(fields, at: clock))
  }

  /// Sends a document of things as it travels, as a group of its own.
  func sendDocument(_ id: String, wire: [UInt8]) throws {
    var group = ByteWriter()
    group.writeVarint(1)
    group.writeString("things")
    group.writeBlob(try DocumentID(id).bytes)
    group.write(0 as UInt8)
    group.writeBlob(wire)
    send(.fragment) { out in
      var stream = ByteWriter()
      stream.writeBlob(group.bytes)
      out.write(1 as UInt8)
      out.writeVarint(stream.count)
      out.write(stream.bytes)
    }
  }

  func receive(_ bytes: [UInt8]) { perform(session.receive(bytes, now: now)) }

  func tick(after duration: Duration) {
    now += duration
    perform(session.tick(now: now))
  }

  func perform(_ actions: [Action]) {
    for action in actions {
      switch action {
      case .send(let bytes):
        if let bounds = try? FrameCodec.bounds(in: bytes.span.bytes, at: 0),
          let type = FrameType(rawValue: bounds.type)
        {
          frames.append((type, Array(bytes[bounds.payload])))
        }
      case .apply(let batch): batches.append(batch)
      case .pack(let job): perform(session.packed(job.run(with: PackBench()), now: now))
      case .close(let error): closed = error
      case .event(let event): events.append(event)
      case .query(.rows(let number, let some, let received)):
        rows += some
        perform(session.consumedRows(of: number, through: received, now: now))
      case .query(.ended(_, let end)): rowsEnd = end
      case .query(.run): break
      case .wake(let delay): if delay == .zero, ticksAtOnce { perform(session.tick(now: now)) }
      case .nudge(let sessions): nudged += sessions
      case .admission(let action): admissions.append(action)
      case .presence(let signed): presences.append(signed)
      }
    }
  }

  /// Applies what the session has handed out.
  func apply() throws {
    while !batches.isEmpty {
      let batch = batches.removeFirst()
      let result = Result { try peer.store.write(origin: .remote(session.id)) { try batch.apply(in: $0) }.0 }
      outcome = try? result.get()
      perform(session.applied(batch.ticket, result, now: now))
    }
  }

  func sent(_ type: FrameType) -> [[UInt8]] { frames.filter { $0.type == type }.map(\.payload) }
}

extension FrameType {
  /// The type of a whole frame.
  init?(of frame: [UInt8]) {
    guard let bounds = try? FrameCodec.bounds(in: frame.span.bytes, at: 0) else { return nil }
    self.init(rawValue: bounds.type)
  }
}
