import CRDTCore
import DocStore
import Foundation
import QueryEngine
import ScopePolicy
import SyncProtocol

/// That a process is killed at this very point.
struct Death: Error, @unchecked Sendable {
  let peer: SimPeer
}

/// A peer: a real store under `/dev/shm`, its subscriptions, scopes and sessions, and a process that may die.
package final class SimPeer {
  package let number: Int
  package let plan: PeerPlan
  unowned let world: World
  let clock: SimClock
  private let directory: String
  /// What the ledger held when the files were put aside last.
  var backedUpAt: Int?
  /// Collections whose records have rotted.
  var rotten: Set<Int> = []
  /// Documents of whose deletion it knows nothing any more.
  var forgotten: Set<DocumentName> = []
  /// Whether the next opening does not look whether the files are a copy.
  var trustsCopies = false
  private(set) var store: Store?
  private(set) var scopes = SyncScopes()
  /// What the sessions of the process share.
  private(set) var shared = SessionShared()
  /// The scopes in force, as numbers of `SyncScope.allCases`.
  private(set) var scopeNumbers: [Int]
  private(set) var subscriptions: [SubscriptionPlan]
  private(set) var queries: [SubscriptionQuery] = []
  private(set) var drivers: [SimDriver] = []
  private(set) var observers: [Observer] = []
  private var listener: CommitListener?
  private let told = Shared<[Commit]>([])
  private var nextSession: UInt64 = 1
  private(set) var starts = 0
  private var pausedUntil: SimTime = 0
  /// Effects until the process dies, and who hears of it then.
  private var dying: (effects: Int, heard: ScriptEvent.Hearing, downFor: SimTime)?
  private var isWriterBusy = false
  /// Transactions that wait for the writer or are under way.
  private var openWrites = 0
  private var draws: Stream
  private let entropy: Shared<Stream>
  private(set) var hardDocumentBytes: Int

  init(_ number: Int, _ plan: PeerPlan, world: World, directory: String) {
    self.number = number
    self.plan = plan
    self.world = world
    self.directory = directory
    clock = SimClock(offset: plan.clockOffset, drift: plan.clockDrift)
    scopeNumbers = plan.scopes
    subscriptions = plan.subscriptions
    hardDocumentBytes = plan.hardDocumentBytes
    draws = Stream(world.script.seed, .store, number)
    entropy = Shared(Stream(world.script.seed, .session, number))
  }

  package var name: String { "p\(number)" }
  var files: String { "\(directory)/store" }
  var backup: String { "\(directory)/backup" }
  var kind: PeerKind { plan.isBig ? .big : .small }
  var isRunning: Bool { store != nil && world.now >= pausedUntil }

  /// Whether nothing waits to be done.
  var isSettled: Bool { !exists || store != nil && openWrites == 0 && drivers.allSatisfy(\.isSettled) }

  /// Whether it has ever been started: one that begins as a copy may not.
  var exists: Bool { starts > 0 }

  // MARK: - Life

  func start() throws {
    clock.set(world.now)
    let (clock, entropy) = (clock, entropy)
    var options = StoreOptions(
      mapBytes: 256 << 20, now: { clock.milliseconds }, random: { entropy.with { $0.next() } },
      log: { _, _ in },
      hardDocumentBytes: hardDocumentBytes)
    options.monotonic = { clock.monotonic }
    options.drive = .manual
    options.collectionInterval = nil
    options.numberCapacity = 1 << 10
    options.recentIDs = 16
    options.trustsCopies = trustsCopies
    // The others begin an opening each time.
    options.witnessDirectory = number.isMultiple(of: 2) ? directory : nil
    // Sites that are looked up on disk, and come into the table again.
    if let memory = plan.memory { (options.keptSites, options.siteRun) = ([0, 1, 3, 16_384][memory % 4], 2) }
    let store = try Store.open(at: files, options: options)
    self.store = store
    starts += 1
    nextSession = 1
    scopes = SyncScopes()
    shared = SessionShared()
    try applyScopes(scopeNumbers)
    try follow(store)
    listener = store.onCommit { [told] commit in told.with { $0.append(commit) } }
    observers = rotten.isEmpty ? try plan.observed.map { try Observer($0, store) } : []
    world.narrate("\(name) starts as \(store.site)")
    world.noteActivity()
    try world.oracles.started(self, store)
  }

  /// Queries cannot read what has rotted.
  func stopObserving() { observers = [] }

  func nudge(_ sessions: [UInt64]) {
    for driver in drivers where sessions.contains(driver.id) { driver.nudge() }
  }

  /// Ends the process where it stands.
  func die() throws {
    guard let store else { return }
    let heard = dying?.heard ?? .both
    let downFor = dying?.downFor ?? 0
    dying = nil
    world.tally.deaths += 1
    if drivers.contains(where: { $0.connection.lines.contains { !$0.isIdle } }) {
      world.reach(.killedWithBytesUnderWay)
    }
    world.narrate("\(name) is killed")
    listener?.cancel()
    listener = nil
    store.crash()
    self.store = nil
    (isWriterBusy, openWrites, pausedUntil) = (false, 0, 0)
    _ = told.take([])
    observers = []
    let gone = drivers
    drivers = []
    for driver in gone { driver.vanish(isHeard: heard == .both) }
    world.oracles.died(self)
    world.after(downFor) { [unowned self] in if self.store == nil { try start() } }
  }

  func close() {
    listener?.cancel()
    store?.crash()
    store = nil
    drivers = []
  }

  /// Ends all faults but those that have to be noticed by somebody.
  func heal() throws {
    dying = nil
    pausedUntil = 0
    clock.thaw()
    if store == nil, starts > 0 { try start() }
  }

  /// A place at which the process may die.
  func effect(_ point: Sometimes = .killedBetweenActions) throws {
    guard var next = dying else { return }
    next.effects -= 1
    dying = next
    guard next.effects <= 0 else { return }
    world.reach(point)
    throw Death(peer: self)
  }

  /// Lets something happen on one of the process's threads.
  func later(_ draws: inout Stream, _ body: @escaping () throws -> Void) {
    let isSlow = draws.oneIn(40)
    let delay = draws.int(below: max(plan.slowness * (isSlow ? 100 : 1), 1))
    after(SimTime(delay), in: starts, body)
  }

  /// Runs `body` after a delay, and after any pause that begins meanwhile, unless the process ends before.
  private func after(_ delay: SimTime, in start: Int, _ body: @escaping () throws -> Void) {
    world.after(max(delay, pausedUntil - world.now)) { [unowned self] in
      guard store != nil, starts == start else { return }
      guard world.now >= pausedUntil else { return after(0, in: start, body) }
      clock.set(world.now)
      try body()
    }
  }

  // MARK: - Faults

  func willDie(after effects: Int, _ heard: ScriptEvent.Hearing, downFor: SimTime) throws {
    guard store != nil, !world.isHealing else { return }
    dying = (effects, heard, downFor)
    if effects <= 0 { throw Death(peer: self) }
  }

  func pause(for time: SimTime) {
    world.reach(.paused)
    pausedUntil = max(pausedUntil, world.now + time)
  }

  // MARK: - Sessions

  func configuration(_ link: Int, _ connection: Int) -> SessionConfiguration {
    let random = Shared(Stream(world.script.seed, .session, number, link, connection, 1))
    var configuration = SessionConfiguration(
      kind: kind, peerName: name, appID: "sim", compressionLevel: plan.compressionLevel,
      silence: .milliseconds(plan.silence),
      liveQueueBytes: plan.liveQueueBytes, initialWindowBytes: plan.windowBytes,
      random: { random.with { $0.next() } })
    configuration.access = .everything
    configuration.packsOutside = nextSession % 2 == 0
    configuration.isLocal = world.script.links[link].isLocal ?? false
    plan.tune(&configuration)
    return configuration
  }

  /// Takes one end of a connection.
  func accept(_ connection: Connection, side: Int) -> SimDriver? {
    guard let store else { return nil }
    clock.set(world.now)
    defer { nextSession += 1 }
    let driver = SimDriver(nextSession, self, store: store, connection, side: side)
    drivers.append(driver)
    return driver
  }

  func forget(_ driver: SimDriver) { drivers.removeAll { $0 === driver } }

  // MARK: - What applications do

  func subscribe(to plans: [SubscriptionPlan]) throws {
    subscriptions = plans
    if let store { try follow(store) }
    if !drivers.isEmpty { world.reach(.subscribedInSession) }
    if drivers.contains(where: { $0.met != nil && $0.caughtUp == nil }) {
      world.reach(.subscribedWhileCatchingUp)
    }
    for driver in drivers { driver.subscribe(queries) }
    world.noteActivity()
  }

  /// Takes up what it subscribes to, and what of that it lets go of.
  private func follow(_ store: Store) throws {
    queries = try subscriptions.map { try $0.query() }
    let evicting = try subscriptions.filter { $0.evicts == true }.map { try $0.query() }
    shared.follow(queries, evicting: Set(evicting), of: store)
  }

  func scope(_ numbers: [Int]) throws {
    if !drivers.isEmpty { world.reach(.scopeChangedInSession) }
    if zip(scopeNumbers, numbers).contains(where: { $0 != 0 && $1 == 0 }) { world.reach(.scopeOpened) }
    scopeNumbers = numbers
    if try applyScopes(numbers) { for driver in drivers { driver.policyChanged() } }
    world.noteActivity()
  }

  @discardableResult
  private func applyScopes(_ numbers: [Int]) throws -> Bool {
    var map: [TextKey: SyncScope] = [:]
    for (collection, number) in numbers.enumerated() { map["c\(collection)"] = SyncScope.allCases[number] }
    return try scopes.set(map)
  }

  /// Whether this peer may tell another of a collection.
  func maySend(_ collection: Int, to other: SimPeer) -> Bool {
    scopes.maySend(collection: "c\(collection)", to: other.kind)
  }

  func limit(_ bytes: Int) {
    hardDocumentBytes = bytes
    store?.hardDocumentBytes = bytes
  }

  // MARK: - Writing

  /// Queues a transaction; its stages follow one after the other, and sessions go on between them.
  func write(
    origin: Origin, _ body: @escaping (WriteTransaction) throws -> Void,
    completion: @escaping (Result<CommitReceipt, any Error>) -> Void
  ) {
    guard let store else { return }
    openWrites += 1
    world.tally.operations += 1
    let carried = Carried((body, completion, self))
    store.enqueue(origin: origin) {
      try carried.value.0($0)
    } completion: { result in
      carried.value.2.openWrites -= 1
      carried.value.1(result)
    }
    drive()
  }

  private func drive() {
    guard !isWriterBusy else { return }
    isWriterBusy = true
    later(&draws) { [unowned self] in try carryOn(to: .executed) }
  }

  private func carryOn(to stage: CommitStage) throws {
    guard let store else { return }
    switch stage {
    case .executed: try effect(.killedBeforeExecution)
    case .committed: try effect(.killedWhenExecuted)
    case .announced: try effect(.killedWhenDurable)
    }
    if stage == .executed, openWrites > 1 { world.reach(.commitsShared) }
    let hasMoved = store.step(upTo: stage)
    // What a store tells too early is heard too early.
    if stage != .announced { try distribute() }
    guard stage != .announced, hasMoved || stage != .executed else {
      isWriterBusy = false
      try distribute()
      if openWrites > 0 { drive() }
      return
    }
    later(&draws) { [unowned self] in try carryOn(to: stage == .executed ? .committed : .announced) }
  }

  /// Hands commits that have been told to whoever listens.
  func distribute() throws {
    let commits = told.take([])
    guard !commits.isEmpty, let store else { return }
    world.noteActivity()
    for commit in commits {
      world.tally.commits += 1
      world.trace.add(world.now, number, 2, commit.sequence)
      if !observers.isEmpty { world.reach(.observed) }
      for index in observers.indices { try observers[index].follow(commit, at: self) }
      try world.oracles.committed(commit, at: self, store)
    }
    for driver in drivers { driver.committed(commits) }
    try world.oracles.distributed(at: self, store)
  }
}

/// A value that closures of the store's share with the world's one thread.
final class Shared<Value>: @unchecked Sendable {
  private var value: Value

  init(_ value: Value) { self.value = value }

  func with<R>(_ body: (inout Value) -> R) -> R { body(&value) }

  /// Takes the value and leaves another one.
  func take(_ other: Value) -> Value {
    defer { value = other }
    return value
  }
}

/// What is handed through closures that could leave the world's one thread, and do not.
struct Carried<Value>: @unchecked Sendable {
  let value: Value

  init(_ value: Value) { self.value = value }
}
