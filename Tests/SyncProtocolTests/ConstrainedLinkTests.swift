import CRDTCore
import DocStore
import Synchronization
import SyncProtocol
import TestKit
import Testing

/// Sync on a link like that of a small radio, at full size: 20 KB a second, 30 ms delay, in virtual time.
///
/// Nothing here reads a real clock, so a slow machine changes no figure. A seed decides which frames are
/// lost.
@Suite struct ConstrainedLinkTests {
  static let documentBytes = 250_000

  /// A report of prose whose wire form has just so many bytes: what stands beside the text takes some.
  private static let report = Result {
    var prose = EnglishProse(seed: 250)
    let text = prose.text(documentBytes)
    func fields(_ count: Int) -> [TextKey: Value] {
      [
        "type": .string("report"), "status": .string("open"), "amount": .int(7),
        "body": .string(String(text.prefix(count))),
      ]
    }
    let rest = try GoldenMessages.wireDocument(fields(documentBytes)).count - documentBytes
    let fields = fields(documentBytes - rest)
    try #require(try GoldenMessages.wireDocument(fields).count == documentBytes)
    return fields
  }

  /// Two peers of which one holds the report.
  private static func link(_ line: LineProfile) throws -> SlowLink {
    let link = try SlowLink(line)
    try link.sender.put("large", report.get())
    return link
  }

  /// What a first sync on a line came to, and a meeting after it.
  private struct FirstSync {
    let time: Duration
    /// Bytes that arrived at the receiver until it had the report.
    let bytes: Int
    /// Bytes of both ways whenever the two met again.
    let meetingBytes: [Int]

    init(_ line: LineProfile) throws {
      let link = try ConstrainedLinkTests.link(line)
      let start = link.time
      try link.connect()
      try link.run { try link.receiver.exists("large") }
      (time, bytes) = (link.time - start, link.arrivedBytes[1])
      try #require(try link.receiver.documents() == link.sender.documents())
      // Soon after, all is compared; later there is a cursor to go on from.
      meetingBytes = try [2, 7].map { seconds in
        try link.run(for: .seconds(seconds))
        link.cut()
        let before = link.arrivedBytes[0] + link.arrivedBytes[1]
        try link.connect()
        try link.run(for: .seconds(2))
        try #require(link.ends[1].caughtUp != nil)
        return link.arrivedBytes[0] + link.arrivedBytes[1] - before
      }
    }
  }

  /// Those that were made, by the line: the model that packs for slow links takes its time in a debug build.
  private static let made = Mutex<[Int: FirstSync]>([:])

  /// That of the line at a place among those of ``SlowLinkTests``, made when it is first asked for.
  private static func firstSync(_ place: Int) throws -> FirstSync {
    try made.withLock { made in
      if let known = made[place] { return known }
      let new = try FirstSync(SlowLinkTests.lines[place])
      made[place] = new
      return new
    }
  }

  @Test(arguments: SlowLinkTests.lines.indices)
  func `250 KB of prose come in less than 4,5 seconds`(place: Int) throws {
    let first = try Self.firstSync(place)
    #expect(first.time < .milliseconds(4_500), "\(SlowLinkTests.lines[place]): \(first.time)")
    // Text that compresses better would prove less.
    #expect(first.bytes > 76_000, "\(first.bytes)")
  }

  @Test(arguments: SlowLinkTests.lines.indices)
  func `two peers in sync meet again in less than 200 bytes both ways`(place: Int) throws {
    let bytes = try Self.firstSync(place).meetingBytes
    #expect(bytes.allSatisfy { $0 > 0 && $0 < 200 }, "\(SlowLinkTests.lines[place]): \(bytes)")
  }

  @Test(arguments: [0, SlowLinkTests.lines.count - 1])
  func `a link cut at half sends less than a fiftieth of the document again`(place: Int) throws {
    let whole = try Self.firstSync(place).bytes
    let link = try Self.link(SlowLinkTests.lines[place])
    try link.connect()
    try link.run { link.arrivedBytes[1] * 2 > whole }
    link.cut()
    try link.connect()
    try link.run { try link.receiver.exists("large") }
    #expect(try link.receiver.documents() == link.sender.documents())
    let again = link.arrivedBytes[1] - whole
    #expect(again < Self.documentBytes / 50, "\(SlowLinkTests.lines[place]): \(again)")
  }

  /// What does not compress, and so lasts.
  private static let noise: Value = {
    var random = SeededGenerator(seed: 5)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(5_000_000)
    while bytes.count < 4_999_000 { withUnsafeBytes(of: random.next()) { bytes += $0 } }
    return .bytes(bytes)
  }()

  @Test(arguments: [SlowLinkTests.lines[0], SlowLinkTests.lines[2], SlowLinkTests.lines[4]])
  func `19 of 20 small changes beside 5 MB arrive within 350 ms`(line: LineProfile) throws {
    let link = try SlowLink(line)
    try link.connect()
    try link.run(for: .seconds(2)) { link.ends[1].caughtUp != nil }
    try link.sender.put("large", ["bytes": Self.noise])
    try link.work()
    let slowest = try SlowLinkTests.latency(link, count: 40)
    // Although one frame in twenty is lost, each of which holds up all behind it.
    #expect(slowest < .milliseconds(350), "\(line): \(slowest)")
    #expect(try !link.receiver.exists("large"))
    // The line is never idle meanwhile, but for what small frames cost.
    let idle = 1 - Double(link.arrivedBytes[1]) / (link.time / .seconds(1) * 20_000)
    #expect(idle < 0.08 + line.loss * 2, "\(line): \(idle)")
  }
}
