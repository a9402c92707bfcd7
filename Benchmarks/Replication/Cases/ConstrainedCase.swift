import BenchmarkSupport
import CRDTCore
import DocStore
import Foundation
import QueryEngine
import Transports

/// What a link of 20 KB a second comes to: 30 ms away, in frames of 185 or 512 bytes, of which some are lost.
///
/// Both peers run in this process; the line between them is emulated in real time.
struct ConstrainedCase {
  private static let deadline = Duration.seconds(600)
  let short: Bool

  func run(_ report: inout Report, in directory: URL) async throws {
    for frameBytes in [185, 512] {
      for loss in short ? [0.01] : [0, 0.01, 0.05] {
        var profile = LinkProfile.constrained
        profile.frameBytes = frameBytes
        profile.loss = loss
        let name = "frames of \(frameBytes) B, \(Int(loss * 100)) % lost"
        // Which frames are lost decides: others are with each seed.
        for seed in 1..<(short || loss == 0 ? 1 : UInt64(5)) {
          var other = profile
          other.seed = seed
          _ = try await firstSync(other, name, &report, in: directory)
        }
        let first = try await firstSync(profile, name, &report, in: directory)
        try await cut(profile, name, first, &report, in: directory)
        try await besideLarge(profile, name, &report, in: directory)
      }
    }
  }

  /// Two peers, of which one pulls all of two collections.
  private final class Meeting {
    let sender: Peer
    let receiver: Peer
    private(set) var link: MemoryLink?
    private let directory: URL

    init(in parent: URL) throws {
      directory = parent.appendingPathComponent(UUID().uuidString)
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      sender = try Peer(path: directory.appendingPathComponent("sender").path, name: "sender")
      receiver = try Peer(path: directory.appendingPathComponent("receiver").path, name: "receiver")
      receiver.network.subscribe(
        to: try ["large", "small"].map { try SubscriptionQuery(dql: "SELECT * FROM \($0)") })
    }

    func connect(_ profile: LinkProfile) {
      let (there, here) = MemoryLink.pair(profile: profile)
      sender.network.adopt(there, direction: .incoming)
      receiver.network.adopt(here, direction: .outgoing)
      link = here
    }

    func cut() async throws {
      link?.close(LinkError(.closed, "The line is cut"))
      while !sender.network.connections.isEmpty || !receiver.network.connections.isEmpty {
        try await Task.sleep(for: .milliseconds(5))
      }
    }

    var receivedBytes: Int { Int(link?.statistics.receivedBytes ?? 0) }
    var sentBytes: Int { Int(link?.statistics.sentBytes ?? 0) }

    func wait(until isDone: () throws -> Bool) async throws {
      let start = ContinuousClock.now
      while try !isDone() {
        guard ContinuousClock.now - start < ConstrainedCase.deadline else {
          throw BenchmarkError("nothing came of it in \(ConstrainedCase.deadline)")
        }
        try await Task.sleep(for: .milliseconds(2))
      }
    }

    func waitForLarge() async throws { try await wait { try receiver.holds("large", "large") } }

    func close() async {
      await sender.close()
      await receiver.close()
      try? FileManager.default.removeItem(at: directory)
    }
  }

  /// - Returns: The bytes that brought the document.
  private func firstSync(
    _ profile: LinkProfile, _ name: String, _ report: inout Report, in directory: URL
  ) async throws -> Int {
    let meeting = try Meeting(in: directory)
    _ = try await meeting.sender.writeLarge("large", canonicalBytes: 250_000)
    let start = ContinuousClock.now
    meeting.connect(profile)
    try await meeting.waitForLarge()
    let first = meeting.receivedBytes
    report.add(
      "\(name): first sync of 250 KB", (ContinuousClock.now - start) / .seconds(1), .seconds)
    report.add("\(name): first sync of 250 KB, on the wire", Double(first), .bytes)
    // What is still acknowledged counts for nothing.
    try await Task.sleep(for: .seconds(2))
    try await meeting.cut()
    meeting.connect(profile)
    try await Task.sleep(for: .seconds(2))
    report.add(
      "\(name): meeting again in sync, both ways", Double(meeting.receivedBytes + meeting.sentBytes), .bytes)
    await meeting.close()
    return first
  }

  private func cut(
    _ profile: LinkProfile, _ name: String, _ first: Int, _ report: inout Report, in directory: URL
  ) async throws {
    let meeting = try Meeting(in: directory)
    _ = try await meeting.sender.writeLarge("large", canonicalBytes: 250_000)
    meeting.connect(profile)
    try await meeting.wait { meeting.receivedBytes * 2 > first }
    try await meeting.cut()
    let before = meeting.receivedBytes
    meeting.connect(profile)
    try await meeting.waitForLarge()
    report.add(
      "\(name): received once more after a cut at half", Double(before + meeting.receivedBytes - first),
      .bytes)
    await meeting.close()
  }

  private func besideLarge(
    _ profile: LinkProfile, _ name: String, _ report: inout Report, in directory: URL
  ) async throws {
    let meeting = try Meeting(in: directory)
    try await meeting.sender.mark("small")
    meeting.connect(profile)
    _ = try await meeting.receiver.arrivals.wait(for: 1, in: "small", deadline: Self.deadline)
    _ = try await meeting.sender.writeLarge("large", canonicalBytes: 5_000_000)
    var random = SplitMix64(seed: 8)
    var times: [Double] = []
    let count = short ? 20 : 100
    for index in 0..<count {
      try await Task.sleep(for: .milliseconds(200 + Int(random.next() % 400)))
      let start = Measures.nanoseconds
      try await meeting.sender.store.write { transaction in
        try transaction.upsert(["n": .int(Int64(index))], id: DocumentID("small\(index)"), into: "small")
      }
      let end = try await meeting.receiver.arrivals.wait(for: index + 2, in: "small", deadline: Self.deadline)
      times.append((end - start) / 1e9)
    }
    guard try !meeting.receiver.holds("large", "large") else {
      throw BenchmarkError("5 MB arrived before the last small change was written")
    }
    times.sort()
    report.add("\(name): small change beside 5 MB, p50", times[count / 2], .seconds)
    report.add("\(name): small change beside 5 MB, p95", times[count * 95 / 100], .seconds)
    await meeting.close()
  }
}
