import CRDTCore
import DocStore
import QueryEngine
import SyncProtocol
import TestKit

/// One end of a link of the test network: a session and what waits for it.
final class Endpoint {
  let peer: TestPeer
  let session: Session
  unowned let network: TestNetwork
  weak var other: Endpoint?
  var commits: [Commit] = []
  var applies: [ApplyBatch] = []
  /// Pieces to be packed, which are done in any order.
  var packs: [PackJob] = []
  /// Bytes that this end has sent and the other has not received.
  var outbound: [UInt8] = []
  var isAwake = false
  /// When the session wants to be called, whatever happens.
  private(set) var wakeAt: Duration?
  private var isNudged = false
  var isReady = true
  var closed: SyncError?
  var events: [SyncEvent] = []
  /// Bytes that still go out before the link goes dead.
  var bytesUntilCut = Int.max
  /// Leaves what is to be applied lying.
  var holdsApplies = false
  /// Every byte that was ever sent.
  var sentBytes = 0
  /// What came of the statements that this end has asked the other one to run.
  var answers: [UInt64: (rows: [QueryRow], end: QueryEnd?)] = [:]
  /// Statements that this end is to run.
  private(set) var jobs: [QueryJob] = []
  private(set) var jobCount = 0
  /// Leaves statements lying that are to be run.
  var holdsJobs = false
  /// What goes by for a statement from one look at the clock to the next.
  var queryPace = Duration.zero
  /// Whether rows are taken as they come.
  var takesRows = true
  private var received: [UInt64: UInt64] = [:]
  private var subscriptionsChanged = false

  init(_ peer: TestPeer, id: UInt64, network: TestNetwork, configuration: SessionConfiguration) {
    self.peer = peer
    self.network = network
    session = Session(
      id: id, store: peer.store, gate: peer.scopes, shared: peer.shared, configuration: configuration)
  }

  func start() throws {
    try perform(session.subscriptionsChanged(peer.queries, now: network.now))
    try perform(session.start(now: network.now))
  }

  func subscribe() { subscriptionsChanged = true }

  func perform(_ actions: [Action]) throws {
    for action in actions {
      switch action {
      case .send(let bytes):
        let kept = bytes.prefix(bytesUntilCut)
        bytesUntilCut -= kept.count
        outbound += kept
        sentBytes += bytes.count
        network.onSend?(self, bytes)
      case .apply(let batch): applies.append(batch)
      case .pack(let job): packs.append(job)
      case .close(let error):
        closed = error
        // What a driver does, which then dials again.
        if error.code == .cloned { try peer.store.renewSite(.cloned) }
      case .event(let event): events.append(event)
      case .wake(let delay): if delay == .zero { isAwake = true } else { wakeAt = network.now + delay }
      case .nudge(let sessions): network.nudge(sessions, of: peer)
      case .admission, .presence: break
      case .query(let action): try perform(action)
      }
    }
  }

  func nudge() { isNudged = true }

  /// Takes a frame as if the other end, of which nothing is under way, had sent it.
  func receive(_ type: FrameType, _ body: (inout ByteWriter) -> Void) throws {
    var frame = FrameCodec.frame(type, body)
    FrameCodec.number(&frame, as: UInt32(session.statistics.framesReceived) - 1)
    try perform(session.receive(frame, now: network.now))
  }

  /// Lets time pass for the session.
  func tick() throws {
    if let wakeAt, wakeAt <= network.now { self.wakeAt = nil }
    try perform(session.tick(now: network.now))
  }

  private func perform(_ action: QueryAction) throws {
    switch action {
    case .run(let job):
      jobs.append(job)
      jobCount += 1
    case .rows(let number, let rows, let received):
      answers[number, default: ([], nil)].rows += rows
      self.received[number] = received
      if takesRows { try perform(session.consumedRows(of: number, through: received, now: network.now)) }
    case .ended(let number, let end): answers[number, default: ([], nil)].end = end
    }
  }

  /// Takes all rows that have come.
  func takeRows() throws {
    for (number, received) in received.sorted(by: { $0.key < $1.key }) {
      try perform(session.consumedRows(of: number, through: received, now: network.now))
    }
  }

  /// What can be done for this end now.
  var steps: [() throws -> Void] {
    guard closed == nil else { return [] }
    var steps: [() throws -> Void] = []
    if subscriptionsChanged {
      steps.append { [self] in
        subscriptionsChanged = false
        try perform(session.subscriptionsChanged(peer.queries, now: network.now))
      }
    }
    if !commits.isEmpty {
      steps.append { [self] in try perform(session.committed([commits.removeFirst()], now: network.now)) }
    }
    if !holdsApplies, let batch = applies.first {
      steps.append { [self] in
        applies.removeFirst()
        let session = session
        let result = Result {
          try peer.store.write(origin: .remote(session.id)) { try batch.apply(in: $0) }.0
        }
        try perform(session.applied(batch.ticket, result, now: network.now))
      }
    }
    if !holdsJobs, !jobs.isEmpty {
      steps.append { [self] in
        let clock = SteppingClock(pace: queryPace)
        let environment = EngineEnvironment(now: { clock.look() })
        let engine = Engine(store: peer.store, parameters: SystemParameters(), environment: environment)
        var pieces: [QueryJob.Piece] = []
        jobs.removeFirst().run(on: engine) { pieces.append($0) }
        for piece in pieces { try perform(session.queried(piece, now: network.now)) }
      }
    }
    if !packs.isEmpty {
      steps.append { [self] in
        let job = packs.remove(at: network.random.int(below: packs.count))
        try perform(session.packed(job.run(with: PackBench()), now: network.now))
      }
    }
    if isAwake {
      steps.append { [self] in
        isAwake = false
        try tick()
      }
    }
    if isNudged {
      steps.append { [self] in
        isNudged = false
        try perform(session.nudged(now: network.now))
      }
    }
    if let other, !other.outbound.isEmpty {
      steps.append { [self] in
        let count = min(other.outbound.count, network.pieceBytes())
        let piece = Array(other.outbound.prefix(count))
        other.outbound.removeFirst(count)
        try perform(session.receive(piece, now: network.now))
      }
    }
    return steps
  }

  /// Whether the interest of this generation is in.
  var caughtUp: UInt64? {
    events.reversed().lazy.compactMap { event in
      if case .caughtUp(let generation) = event { generation } else { nil }
    }.first
  }
}

/// Peers and links under one seed: what happens next is drawn, nothing runs by itself.
final class TestNetwork {
  var random: SeededGenerator
  let clock = ManualClock()
  var now: Duration = .seconds(1)
  private(set) var peers: [TestPeer] = []
  private(set) var endpoints: [Endpoint] = []
  /// How far time jumps when nothing can happen before; below what a session waits with a sign of life.
  var patience = Duration.seconds(6)
  /// The most bytes that arrive at once.
  var maximumPiece = 1 << 20
  private var nextID: UInt64 = 1
  /// Sees every frame that is sent.
  var onSend: ((Endpoint, [UInt8]) -> Void)?
  var configure: (inout SessionConfiguration) -> Void = { _ in }
  /// What a peer may read at every other one.
  var access: (TestPeer) -> PeerAccess = { _ in .everything }

  init(seed: UInt64 = 1) { random = SeededGenerator(seed: seed) }

  deinit { for peer in peers { peer.close() } }

  func addPeer(
    _ name: String, _ kind: PeerKind = .small, clock own: ManualClock? = nil,
    hardDocumentBytes: Int = Limits.hardDocumentBytes, stagedBytes: Int? = nil,
    tune: (inout StoreOptions) -> Void = { _ in }
  ) throws -> TestPeer {
    let peer = try TestPeer(
      name, kind, clock: own ?? clock, hardDocumentBytes: hardDocumentBytes, stagedBytes: stagedBytes,
      tune: tune)
    peers.append(peer)
    return peer
  }

  /// A peer on a copy of the whole disk of another, as it is now: it takes itself for the same.
  func addTwin(of peer: TestPeer, _ name: String) throws -> TestPeer {
    let twin = try TestPeer(name, peer.kind, clock: clock, disk: peer.copyDisk())
    peers.append(twin)
    return twin
  }

  /// Joins two peers by a link and starts both sessions.
  @discardableResult
  func connect(_ a: TestPeer, _ b: TestPeer) throws -> (Endpoint, Endpoint) {
    let first = makeEndpoint(a, facing: b)
    let second = makeEndpoint(b, facing: a)
    (first.other, second.other) = (second, first)
    for endpoint in [first, second] {
      endpoint.peer.join(endpoint)
      endpoints.append(endpoint)
      try endpoint.start()
    }
    return (first, second)
  }

  private func makeEndpoint(_ peer: TestPeer, facing other: TestPeer) -> Endpoint {
    var configuration = SessionConfiguration(
      kind: peer.kind, peerName: peer.name, appID: "test", silence: .seconds(900), random: { 42 })
    configuration.packsOutside = nextID % 2 == 0
    configuration.answersRemoteQueries = true
    configuration.access = access(other)
    configuration.obeysWithdrawals = access(peer) != .everything
    configure(&configuration)
    defer { nextID += 1 }
    return Endpoint(peer, id: nextID, network: self, configuration: configuration)
  }

  /// Cuts the link of an endpoint.
  ///
  /// Bytes in flight are lost from any position on. Applies in flight either finish or are lost.
  func cut(_ endpoint: Endpoint) {
    for end in [endpoint, endpoint.other].compactMap({ $0 }) {
      end.peer.leave(end)
      endpoints.removeAll { $0 === end }
      nudge(end.peer.shared.leave(end.session.id), of: end.peer)
    }
  }

  func nudge(_ sessions: [UInt64], of peer: TestPeer) {
    for endpoint in endpoints where endpoint.peer === peer && sessions.contains(endpoint.session.id) {
      endpoint.nudge()
    }
  }

  func pieceBytes() -> Int { maximumPiece <= 1 ? 1 : 1 + random.int(below: maximumPiece) }

  /// Does one thing that can happen next.
  ///
  /// - Returns: `false` when nothing can.
  func step() throws -> Bool {
    for peer in peers { try peer.distribute() }
    var steps = endpoints.flatMap(\.steps)
    if steps.isEmpty {
      // Sessions that wait for something else than a sign of life go on.
      let due = endpoints.filter { $0.closed == nil }.compactMap(\.wakeAt).min()
      guard let due, due - now <= patience else { return false }
      now = max(now, due)
      steps = endpoints.filter { $0.closed == nil && $0.wakeAt.map { $0 <= now } ?? false }.map { end in
        { try end.tick() }
      }
    }
    now += .milliseconds(1)
    try random.pick(steps)()
    return true
  }

  /// Lets everything happen until all is quiet.
  func settle(limit: Int = 2_000_000) throws {
    for _ in 0..<limit where try !step() { return }
    throw NetworkError.restless
  }

  /// Lets some things happen.
  func run(steps: Int) throws {
    for _ in 0..<steps where try !step() { return }
  }

  /// Moves time, and calls those sessions that want it.
  func advance(to time: Duration) throws {
    now = max(now, time)
    for end in endpoints where end.closed == nil && end.wakeAt.map({ $0 <= now }) ?? false { try end.tick() }
  }

  /// Lets time pass at all endpoints.
  func wait(_ duration: Duration) throws {
    now += duration
    for endpoint in endpoints { try endpoint.tick() }
  }
}

enum NetworkError: Error { case restless }
