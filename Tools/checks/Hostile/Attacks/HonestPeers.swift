import CRDTCore
import PeerControl

/// What honest peers do to each other without any ill will.
enum HonestPeers {
  /// The receiver stops for 5 s while one document of 200 KB gets 4,000 small updates.
  static let stopAndGo = stopAndGo(
    "stop-and-go", "honest: 4,000 small updates of 200 KB while the link stands still", bytes: 200_000,
    changes: 4_000)
  static let stopAndGoLarge = stopAndGo(
    "stop-and-go-large", "honest: 200 small updates of 4.9 MB while the link stands still", bytes: 4_900_000,
    changes: 200)

  private static func stopAndGo(_ name: String, _ summary: String, bytes: Int64, changes: Int64) -> Row {
    Row(name, summary, aims: .large) { scene in
      let source = try scene.addPeer("source")
      try await source.ask("put", ["document": .string("large"), "bytes": .int(bytes)])
      let line = try FaultProxy(to: scene.port)
      try await source.ask("connect", ["port": .int(Int64(line.port))])
      try await arrive(-1, at: scene)
      return { scene in
        defer { line.close() }
        let end = ContinuousClock.now + .seconds(5)
        line.stall([.forth, .back])
        try await source.ask("change", ["document": .string("large"), "count": .int(changes)])
        while ContinuousClock.now < end, !scene.isOver { try await Task.sleep(for: .milliseconds(20)) }
        line.heal()
        try await arrive(changes - 1, at: scene)
      }
    }
  }

  /// Waits for that number to stand in the large document.
  private static func arrive(_ number: Int64, at scene: Scene) async throws {
    for _ in 0..<600 {
      let here = try await scene.victim.ask("number", ["document": .string("large")]).number("number")
      if here >= Int(number), here > -2 { return }
      try await Task.sleep(for: .milliseconds(50))
    }
    scene.fail("the updates did not arrive")
  }

  private static let hubDocuments = 100_000

  /// A hub takes in many documents, of which its neighbour subscribes to a few.
  static let narrowNeighbour = narrow(
    "narrow-neighbour", "honest: 100,000 documents to a hub, whose neighbour subscribes to 34", isAway: false)
  /// The same while the neighbour is away and writes a document itself.
  static let narrowReturn = narrow(
    "narrow-return", "honest: the same, while the neighbour is away and writes one of them", isAway: true)

  private static func narrow(_ name: String, _ summary: String, isAway: Bool) -> Row {
    let aims = Aims(memoryWhile: nil, memoryAfter: nil, boundsWaits: false, neighbourBytes: 20_000)
    return Row(name, summary, aims: aims) { scene in
      let hub: [TextKey: Value] = ["port": .int(Int64(scene.port))]
      let (source, neighbour) = (try scene.addPeer("source"), try scene.addPeer("neighbour"))
      try await neighbour.ask("subscribe", ["query": .string("SELECT * FROM things WHERE n < 34")])
      for peer in [source, neighbour] { try await peer.ask("connect", hub) }
      try await catchUp(neighbour)
      return { scene in
        if isAway { try await neighbour.ask("disconnect", hub) }
        let before = isAway ? 0 : try await neighbour.ask("traffic").number("received")
        try await source.ask(
          "fill", ["collection": .string("things"), "count": .int(Int64(hubDocuments)), "bytes": .int(100)])
        for _ in 0..<1_200 {
          if try await count(scene.victim) >= hubDocuments { break }
          try await Task.sleep(for: .milliseconds(50))
        }
        if isAway {
          try await neighbour.ask("change", ["document": .string("7"), "count": .int(8)])
          try await neighbour.ask("connect", hub)
          try await catchUp(neighbour)
        }
        try await Task.sleep(for: .seconds(1))
        let mine = try await count(neighbour)
        if mine != 34 { scene.fail("the neighbour has \(mine) documents of 34") }
        scene.neighbourBytes = try await neighbour.ask("traffic").number("received") - before
      }
    }
  }

  private static func count(_ peer: ChildPeer) async throws -> Int {
    try await peer.ask("count", ["collection": .string("things")]).number("documents")
  }

  /// Waits until a peer has all that its neighbours have for it.
  private static func catchUp(_ peer: ChildPeer) async throws {
    for _ in 0..<600 {
      if try await peer.ask("traffic").flag("caughtUp") { return }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw PeerError("\(peer.name) does not catch up")
  }
}
