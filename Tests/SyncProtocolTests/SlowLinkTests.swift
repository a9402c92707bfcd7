import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

/// A link of 20 KB a second, 30 ms away, in frames of 185 or 512 bytes, in virtual time.
@Suite struct SlowLinkTests {
  private static func noise(_ count: Int) -> Value {
    var random = SeededGenerator(seed: 5)
    return .bytes((0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) })
  }

  static let lines: [LineProfile] = [
    (185, 0.0), (185, 0.01), (185, 0.05), (512, 0.0), (512, 0.01), (512, 0.05),
  ]
  .map { frame, loss in LineProfile(frameBytes: frame, loss: loss) }

  /// Writes small documents one after another and says how long each took, as 95 of 100 did at most.
  static func latency(_ link: SlowLink, count: Int) throws -> Duration {
    var random = SeededGenerator(seed: 8)
    var times: [Duration] = []
    for index in 0..<count {
      try link.run(for: .milliseconds(200 + Int64(random.int(below: 400))))
      try link.sender.put("small\(index)", ["n": .int(Int64(index))])
      let written = link.time
      try link.work()
      try link.run { try link.receiver.exists("small\(index)") }
      times.append(link.time - written)
    }
    return times.sorted()[count * 95 / 100]
  }

  @Test(arguments: [lines[0], lines[2], lines[4]])
  func `a document that does not compress takes what the line takes`(line: LineProfile) throws {
    let link = try SlowLink(line)
    try link.sender.put("large", ["bytes": Self.noise(249_000)])
    let start = link.time
    try link.connect()
    try link.run { try link.receiver.exists("large") }
    // 249,000 bytes at 20 KB a second take 12.5 s without losses. Finding out what is lacking takes some
    // round trips.
    #expect(
      link.time - start < .milliseconds(Int64(13_100 * (1 + 2 * line.loss))), "\(line): \(link.time - start)")
  }

  @Test func `the window opens for a fast link with a long delay`() throws {
    // 20 MB a second, 100 ms there and 100 ms back: 4 MB are on their way at full speed.
    let link = try SlowLink(
      LineProfile(bytesPerSecond: 20_000_000, frameBytes: 64_000, latency: .milliseconds(100)))
    try link.sender.write { transaction in
      for index in 0..<16 {
        try transaction.upsert(
          ["bytes": Self.noise(1_000_000)], id: try DocumentID("d\(index)"), into: "things")
      }
    }
    let start = link.time
    try link.connect()
    try link.run { try link.receiver.documents().count == 16 }
    // At full speed 0.8 s; the first round trips are spent on finding out.
    #expect(link.time - start < .seconds(5), "\(link.time - start)")
  }
}
