import Foundation
import PeerControl

/// One run of a row: idle first, then attacked, then left alone, all at the same victim.
struct RowRun {
  let row: Row
  let program: String
  /// How long an attack may last, and how long the victim is idle before.
  let attack: Duration
  let idle: Duration
  /// How long after an attack honest writes may still come in.
  let patience: Duration
  /// Whether what the victim says is printed.
  let showsLog: Bool

  /// Runs the row once.
  ///
  /// - Throws: Where the peers cannot be started; what becomes of the victim later is part of the figures.
  func run() async throws -> Figures {
    let scene = try await Scene.start(row.setup, program: program)
    defer { scene.end() }
    let watch = MemoryWatch(
      scene.victim.processID, deadline: .now + idle + attack + patience + .seconds(120))
    defer { watch.stop() }
    var figures = Figures()
    do {
      try await measure(scene, watch, &figures)
    } catch let error as PeerError {
      guard scene.victim.hasEnded else { throw error }
      figures.death = watch.ending ?? "its process ended"
      figures.attacked.lost = max(1, figures.attacked.lost)
    }
    figures.faults += scene.faults
    if showsLog { for line in scene.victim.log { print("  \(line)") } }
    return figures
  }

  private func measure(_ scene: Scene, _ watch: MemoryWatch, _ figures: inout Figures) async throws {
    // What the row's own peers and preparations take is not the attack's.
    let attack = try await row.prepare(scene)
    let before = try await idle(scene, watch, &figures)
    try await beginCounting(scene)
    let target = Target(port: scene.port, webPort: scene.webPort, deadline: .now + self.attack)
    scene.aim(at: target)
    let failure = await Result { try await attack(scene) }
    figures.sentBytes = target.sentBytes
    // At least a few honest writes fall into the time of what is over at once.
    if ContinuousClock.now < target.deadline { try await Task.sleep(for: min(.seconds(1), self.attack / 2)) }
    do {
      defer { figures.memoryWhile = max(0, watch.takePeak() - before.peakBytes) }
      figures.attacked = try await waits(scene)
    }
    try failure.get()
    let now = ProcessFigures(of: scene.victim.processID)
    figures.processorSeconds = (now?.processorSeconds ?? 0) - before.processorSeconds
    figures.memoryAfter = try await settle(scene) - before.bytes
    figures.diskBytes = DiskUse.bytes(of: scene.victimPath) - before.diskBytes
    figures.logBytes = scene.victim.logBytes - before.logBytes
    if scene.victim.log.contains(where: { $0.utf8.contains(0x1B) }) { scene.fail("raw bytes in the log") }
    try await row.check(scene)
    figures.neighbourBytes = scene.neighbourBytes
  }

  /// What the victim takes when nobody attacks it.
  private struct Before {
    let peakBytes: Int
    let bytes: Int
    let processorSeconds: Double
    let diskBytes: Int
    let logBytes: Int
  }

  /// Lets the honest writes go on for a while, and nothing else.
  private func idle(
    _ scene: Scene, _ watch: MemoryWatch, _ figures: inout Figures
  ) async throws -> Before {
    try await scene.honest.ask("beat")
    try await Task.sleep(for: .milliseconds(500))
    try await scene.victim.ask("trim")
    _ = try await scene.victim.takeWaits()
    _ = watch.takePeak()
    var waits: [Int64] = []
    // On a busy machine nothing may come in for a while, which is no measure of anything.
    for _ in 0..<5 where waits.isEmpty {
      try await Task.sleep(for: idle)
      waits = try await scene.victim.takeWaits()
    }
    guard !waits.isEmpty else { throw PeerError("no honest write comes in when idle") }
    let peak = watch.takePeak()
    figures.idle = Waits(nanoseconds: waits)
    try await scene.victim.ask("trim")
    let now = ProcessFigures(of: scene.victim.processID)
    return Before(
      peakBytes: peak, bytes: now?.anonymousBytes ?? 0, processorSeconds: now?.processorSeconds ?? 0,
      diskBytes: DiskUse.bytes(of: scene.victimPath), logBytes: scene.victim.logBytes)
  }

  /// Begins a new count of honest writes.
  private func beginCounting(_ scene: Scene) async throws {
    try await scene.honest.ask("stop beating")
    try await Task.sleep(for: .milliseconds(100))
    _ = try await scene.victim.takeWaits()
    try await scene.honest.ask("beat")
  }

  /// Ends the honest writes, and waits until all are at the victim or patience is over.
  private func waits(_ scene: Scene) async throws -> Waits {
    let written = try await scene.honest.ask("stop beating").number("written")
    let end = ContinuousClock.now + patience
    var all: [Int64] = []
    while true {
      all += try await scene.victim.takeWaits()
      if all.count >= written || ContinuousClock.now >= end { break }
      try await Task.sleep(for: .milliseconds(20))
    }
    return Waits(nanoseconds: all, lost: max(0, written - all.count))
  }

  /// Waits until the attackers' connections are gone, and gives back what the allocator holds.
  ///
  /// - Returns: Bytes of anonymous memory that stay.
  private func settle(_ scene: Scene) async throws -> Int {
    var least = Int.max
    for round in 0..<16 {
      let connections = try await scene.victim.ask("traffic").number("connections")
      try await scene.victim.ask("trim")
      least = min(least, ProcessFigures(of: scene.victim.processID)?.anonymousBytes ?? 0)
      if connections <= scene.honestConnections, round >= 2 { return least }
      try await Task.sleep(for: .milliseconds(250))
    }
    scene.fail("attackers' connections stay")
    return least
  }
}

extension ChildPeer {
  /// Bytes that the child has written to its log so far, about.
  var logBytes: Int { log.reduce(0) { $0 + $1.utf8.count + 1 } }
}

extension Result where Failure == any Error {
  /// What came of asynchronous work.
  fileprivate init(_ body: () async throws -> Success) async {
    do {
      self = .success(try await body())
    } catch {
      self = .failure(error)
    }
  }
}
