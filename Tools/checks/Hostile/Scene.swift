import CRDTCore
import Foundation
import PeerControl
import Synchronization

/// The peers of one run of a row: the victim, the honest one beside it, and whoever else the row needs.
final class Scene: Sendable {
  /// What a row wants of its victim.
  struct Setup: Sendable {
    /// What the victim subscribes to beside the honest writes.
    var subscriptions = ["SELECT * FROM things"]
    /// Whether it runs statements for others.
    var answersQueries = false
    /// Documents of things that it holds before, and bytes of the text in each.
    var documents = 0
    var documentBytes = 100
    /// Whether the victim dials the honest peer, instead of the reverse.
    ///
    /// The victim's site is then the greater one, so that of two connections the victim keeps the incoming
    /// one.
    var dialsHonest = false
    /// Whether it also listens for WebSockets.
    var listensForWebSockets = false
    /// Whether the victim is a big peer, with its listeners for HTTP.
    var isBigPeer = false
  }

  let victim: ChildPeer
  let honest: ChildPeer
  /// Where the victim listens.
  let port: Int
  /// Where the victim listens for WebSockets, if it does.
  let webPort: Int?
  let victimPath: String
  private let setup: Setup
  private let directory: URL
  /// Where the stores of all but the victim are: what waits for the disk is to be the victim alone.
  private let quickDirectory: URL
  private let program: String
  private let state = Mutex(State())

  private struct State {
    var others: [ChildPeer] = []
    var target: Target?
    var faults: [String] = []
    var neighbourBytes: Int?
  }

  /// Starts victim and honest peer, and waits until they have met.
  ///
  /// - Throws: Where a process does not start, or the peers do not meet.
  static func start(_ setup: Setup, program: String) async throws -> Scene {
    while true {
      let scene = try await Scene(setup, program: program)
      guard setup.dialsHonest else { return scene }
      // Sites are random: one pair in two is as is wanted.
      if try await scene.honest.site < scene.victim.site { return scene }
      scene.end()
    }
  }

  private init(_ setup: Setup, program: String) async throws {
    self.setup = setup
    self.program = program
    (directory, quickDirectory) = try SceneDirectories.make()
    victimPath = directory.appendingPathComponent("victim").path
    victim = try Self.start(
      "victim", at: victimPath, program,
      options: (setup.answersQueries ? ["--answer-queries"] : []) + (setup.isBigPeer ? ["--big"] : []))
    honest = try Self.start("honest", at: quickDirectory.appendingPathComponent("honest").path, program)
    for query in ["SELECT * FROM beats"] + setup.subscriptions {
      try await victim.ask("subscribe", ["query": .string(query)])
    }
    if setup.documents > 0 {
      try await victim.ask(
        "fill",
        [
          "collection": .string("things"), "count": .int(Int64(setup.documents)),
          "bytes": .int(Int64(setup.documentBytes)),
        ])
    }
    port = try await victim.ask("listen").number("port")
    webPort =
      setup.listensForWebSockets ? try await victim.ask("listen for web sockets").number("port") : nil
    let honestPort = try await honest.ask("listen").number("port")
    if setup.dialsHonest {
      try await victim.ask("connect", ["port": .int(Int64(honestPort))])
    } else {
      try await honest.ask("connect", ["port": .int(Int64(port))])
    }
    try await waitUntilMet(1)
  }

  private static func start(
    _ name: String, at path: String, _ program: String, options: [String] = []
  ) throws -> ChildPeer {
    // Memory that the allocator keeps is not part of our figures: an arena for each thread, and large blocks
    // that are free again.
    try ChildPeer(
      name: name, program: program, arguments: ["hostile", "peer", path, "--name", name] + options,
      environment: [
        "MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072",
        "SWIFT_BACKTRACE": "enable=no",
      ])
  }

  private func waitUntilMet(_ count: Int) async throws {
    for _ in 0..<500 {
      if try await victim.ask("traffic").number("met") >= count { return }
      try await Task.sleep(for: .milliseconds(20))
    }
    throw PeerError("the peers do not meet")
  }

  /// Starts one more peer of the row, with a store of its own.
  func addPeer(_ name: String) throws -> ChildPeer {
    let peer = try Self.start(name, at: quickDirectory.appendingPathComponent(name).path, program)
    state.withLock { $0.others.append(peer) }
    return peer
  }

  /// Ends the victim and opens its store in another process.
  ///
  /// - Returns: How long that process took until it answered.
  func reopen() async throws -> Duration {
    victim.stop()
    let start = ContinuousClock.now
    let next = try Self.start("victim", at: victimPath, program)
    state.withLock { $0.others.append(next) }
    try await next.ask("traffic")
    return .now - start
  }

  /// Says whom the attackers are to attack from now on.
  func aim(at target: Target) { state.withLock { $0.target = target } }

  /// Runs an attack on a thread of its own, and waits for its end.
  func hostile(_ body: @escaping @Sendable (Target) -> Void) async {
    guard let target = state.withLock({ $0.target }) else { return }
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        body(target)
        continuation.resume()
      }
    }
  }

  /// Whether the row's time is over.
  var isOver: Bool { state.withLock { $0.target?.isOver ?? true } }

  /// Notes what is not as it should be.
  func fail(_ fault: String) { state.withLock { $0.faults.append(fault) } }

  var faults: [String] { state.withLock { $0.faults } }

  /// Bytes that a neighbour has received, where the row counts them.
  var neighbourBytes: Int? {
    get { state.withLock { $0.neighbourBytes } }
    set { state.withLock { $0.neighbourBytes = newValue } }
  }

  /// Connections of the victim's that are no attacker's.
  var honestConnections: Int { 1 + state.withLock { $0.others.count } }

  /// Ends all processes and removes their stores.
  func end() {
    for peer in [victim, honest] + state.withLock({ $0.others }) { peer.kill() }
    for place in [directory, quickDirectory] { try? FileManager.default.removeItem(at: place) }
  }
}

extension ChildPeer {
  /// The site of the peer's store.
  var site: SiteID {
    get async throws {
      let answer = try await ask("site")
      return SiteID(
        high: UInt64(bitPattern: Int64(answer.number("high"))),
        low: UInt64(bitPattern: Int64(answer.number("low"))))
    }
  }

  /// The waits of the honest writes that came in since the last call, in nanoseconds.
  func takeWaits() async throws -> [Int64] {
    guard case .array(let values)? = try await ask("waits")["waits"] else { return [] }
    return values.compactMap { if case .int(let value) = $0 { value } else { nil } }
  }
}
