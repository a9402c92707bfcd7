import DunlinKit
import Foundation
import Synchronization

/// A sensor logger that keeps one hour of its readings, and a station that collects them all on its visits.
///
/// The logger writes for a day without a network. Its disk is small, so it evicts readings older than an hour
/// once the station has them. Time is simulated, so that a day takes seconds: `swift run sensor-logger`.
@main
struct SensorLogger {
  /// One reading; its id has the time, so two writes of one reading are one document.
  struct Reading: Codable, Sendable {
    var _id: String
    var sensor: String
    var celsius: Double
    /// Seconds since 1970.
    var takenAt: Double
  }

  static func main() async throws {
    let directory = CommandLine.arguments.dropFirst().first ?? NSTemporaryDirectory() + "/sensors-\(UUID())"
    defer { if CommandLine.arguments.count < 2 { try? FileManager.default.removeItem(atPath: directory) } }
    let time = Time()
    // A product uses `.sharedKey` or certificates: see Documentation/Security.md.
    let logger = try open("logger", in: directory, at: time)
    let station = try open("station", in: directory, at: time)
    try await logger.store.execute(query: "CREATE INDEX byTime ON readings (takenAt)")

    // The station wants everything, and keeps it. The logger subscribes to nothing: it only writes.
    let collected = try station.sync.registerSubscription(query: "SELECT * FROM readings")
    try logger.listen(host: "127.0.0.1", port: 0)
    try logger.startSync()
    station.connect(host: "127.0.0.1", port: logger.listeningPorts[0])

    for hour in 1...24 {
      try await write(60, to: logger, at: time)
      // The station comes by every eighth hour.
      guard hour % 8 == 0 else { continue }
      try station.startSync()
      try await station.waitForReadings(hour * 120)
      station.stopSync()
      // No subscription of the logger matches what it evicts, so nothing comes back.
      let evicted = try await logger.store.execute(
        query: "EVICT FROM readings WHERE takenAt <= :limit", arguments: ["limit": time.seconds - 3_600])
      let kept = try logger.store["readings"].findAll().count()
      let all = try station.store["readings"].findAll().count()
      print(
        "hour \(hour): the logger evicted \(evicted.mutatedDocumentIDs.count) readings and keeps \(kept), "
          + "the station has \(all)")
    }

    let report = try await station.store.execute(
      query: """
        SELECT sensor, COUNT(*) AS n, MIN(celsius) AS low, MAX(celsius) AS high
        FROM readings GROUP BY sensor ORDER BY sensor
        """)
    for row in report.items {
      let range = String(format: "%.1f to %.1f °C", row["low"].doubleValue, row["high"].doubleValue)
      print("\(row["sensor"].stringValue): \(row["n"].intValue) readings from \(range)")
    }
    collected.cancel()
    try station.close()
    try logger.close()
  }

  private static func open(_ name: String, in directory: String, at time: Time) throws -> Dunlin {
    var configuration = DunlinConfiguration(peerName: name)
    configuration.clock = { Date(timeIntervalSince1970: time.seconds) }
    return try Dunlin(
      path: "\(directory)/\(name)", identity: .unsafeDevelopment(appID: "sensors"),
      configuration: configuration)
  }

  /// Writes the readings of two sensors for `minutes`, in one transaction: one commit, one sync of the disk.
  private static func write(_ minutes: Int, to logger: Dunlin, at time: Time) async throws {
    try await logger.store.write { transaction in
      for _ in 0..<minutes {
        let now = time.pass(60)
        for sensor in ["north", "south"] {
          try transaction["readings"].upsert(
            Reading(
              _id: "\(sensor)-\(Int(now))", sensor: sensor, celsius: 12 + 8 * sin(now / 13_751), takenAt: now)
          )
        }
      }
    }
  }
}

/// A clock that goes when it is told to.
final class Time: Sendable {
  private let now = Mutex(1_800_000_000.0)

  /// Seconds since 1970.
  var seconds: Double { now.withLock { $0 } }

  func pass(_ seconds: Double) -> Double {
    now.withLock { now in
      now += seconds
      return now
    }
  }
}

extension Dunlin {
  /// Waits until so many readings are here.
  func waitForReadings(_ count: Int) async throws {
    for try await change in try store.changes(of: "SELECT COUNT(*) AS n FROM readings")
    where change.items.first?["n"].intValue == count { return }
  }
}
