import BenchmarkSupport
import CRDTCore
import DocStore
import Foundation
import QueryEngine
import SyncProtocol
import Transports

/// How many bytes a device receives whose neighbour takes in much of which it asks for little.
///
/// All peers run in this process, so that bytes are counted and no times.
struct NarrowCase {
  /// The most that a neighbour may receive, documents included.
  static let mostBytes = 20_000.0
  /// A ping and the answer to one: what comes within a second where nothing happens.
  private static let lifeBytes: UInt64 = 28
  private static let deadline = Duration.seconds(900)
  private static let collection = "things"
  private static let all = "SELECT * FROM things"
  private static let few = "SELECT * FROM things WHERE n = 7"
  /// Documents of which a device asks for one.
  private static let share = 2_942

  let count: Int
  let neighbours: Int

  func run(_ report: inout Report, in parent: URL) async throws {
    try await inDirectory(parent) { try await one(&report, in: $0) }
    try await inDirectory(parent) { try await many(&report, in: $0) }
  }

  private func inDirectory(_ parent: URL, _ body: (URL) async throws -> Void) async throws {
    let directory = parent.appendingPathComponent("narrow-\(UInt64.random(in: 0...UInt64.max))")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    try await body(directory)
  }

  /// A source that writes, a hub that takes it all in, and devices at the hub.
  private final class Hub {
    let source: Peer
    let hub: Peer
    private(set) var devices: [Peer] = []
    private let directory: URL
    private let port: Int
    private var written = 0

    init(in directory: URL) async throws {
      self.directory = directory
      source = try Peer(path: directory.appendingPathComponent("source").path, name: "source")
      hub = try Peer(path: directory.appendingPathComponent("hub").path, name: "hub")
      hub.network.subscribe(to: [try SubscriptionQuery(dql: NarrowCase.all)])
      guard let port = try hub.network.listen() else { throw BenchmarkError("the hub does not listen") }
      self.port = port
      try await source.connect(port: port, route: .tcp)
    }

    func addDevices(_ count: Int) async throws {
      for number in devices.count..<devices.count + count {
        let device = try Peer(
          path: directory.appendingPathComponent("device-\(number)").path, name: "device \(number)")
        device.network.subscribe(to: [try SubscriptionQuery(dql: NarrowCase.few)])
        devices.append(device)
        try await device.connect(port: port, route: .tcp)
      }
    }

    /// Writes documents, a hundred a transaction, and waits until the hub has them and no data moves.
    func write(_ count: Int) async throws {
      let numbers = written..<written + count
      for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 100) {
        try await source.store.write { transaction in
          for number in start..<min(start + 100, numbers.upperBound) {
            let value: Value = .int(number % NarrowCase.share == 0 ? 7 : Int64(number) + 1_000)
            try transaction.upsert(
              ["n": value, "name": .string("thing \(number)")], id: DocumentID("thing-\(number)"),
              into: NarrowCase.collection)
          }
        }
      }
      written += count
      _ = try await hub.arrivals.wait(for: written, in: NarrowCase.collection, deadline: NarrowCase.deadline)
      try await rest()
    }

    /// Waits until each device holds what it asked for, and no bytes but signs of life come any more.
    func rest() async throws {
      let expected = (written + NarrowCase.share - 1) / NarrowCase.share
      for device in devices where expected > 0 && !device.network.connections.isEmpty {
        _ = try await device.arrivals.wait(
          for: expected, in: NarrowCase.collection, deadline: NarrowCase.deadline)
      }
      var before: [UInt64]?
      while true {
        let now = devices.map { $0.network.connections.first?.statistics.bytesReceived ?? 0 }
        // Of a hundred devices, some always say that they are there.
        let isStill = { (now: UInt64, before: UInt64) in
          now >= before && now - before <= NarrowCase.lifeBytes
        }
        if let before, zip(now, before).allSatisfy(isStill) { return }
        before = now
        try await Task.sleep(for: .seconds(1))
      }
    }

    /// Bytes of all frames that each device has received and sent in its session.
    func moved() -> [(received: Double, sent: Double)] {
      devices.map { device in
        let statistics = device.network.connections.first?.statistics ?? SyncStatistics()
        return (Double(statistics.bytesReceived), Double(statistics.bytesSent))
      }
    }

    func part() async throws { for device in devices { try await device.part(port) } }

    func meet() async throws {
      for device in devices { _ = try await device.meet(port) }
      try await rest()
    }

    func close() async {
      for device in devices { await device.close() }
      await source.close()
      await hub.close()
    }
  }

  private func one(_ report: inout Report, in directory: URL) async throws {
    let world = try await Hub(in: directory)
    try await world.addDevices(1)
    try await world.rest()
    try await world.write(count)
    try add(world, "live", &report)
    try await world.part()
    try await world.write(count)
    try await world.meet()
    try add(world, "over a reconnection", &report)
    // A session begins anew, and so do its figures.
    try await world.part()
    try await world.meet()
    try await world.write(count / 2)
    world.hub.network.subscribe(to: [try SubscriptionQuery(dql: Self.all + " WHERE n >= 0")])
    world.devices[0].network.subscribe(to: [try SubscriptionQuery(dql: Self.few + " OR n = -5")])
    try await world.write(count / 2)
    try add(world, "as both change what they ask for", &report)
    await world.close()
  }

  private func many(_ report: inout Report, in directory: URL) async throws {
    let world = try await Hub(in: directory)
    try await world.addDevices(neighbours)
    try await world.rest()
    try await world.write(count)
    try add(world, "live, one of \(neighbours)", &report)
    await world.close()
  }

  private func add(_ world: Hub, _ words: String, _ report: inout Report) throws {
    let moved = world.moved().sorted { $0.received < $1.received }
    guard let most = moved.last else { return }
    let name = "a neighbour of a hub that takes in \(count.grouped) documents"
    report.add("\(name), received \(words)", moved[moved.count / 2].received, .bytes)
    if moved.count > 1 { report.add("\(name), the most received \(words)", most.received, .bytes) }
    report.add("\(name), sent \(words)", moved[moved.count / 2].sent, .bytes)
    guard most.received <= Self.mostBytes else {
      throw BenchmarkError("a neighbour that asked for little received \(most.received) bytes \(words)")
    }
  }
}
