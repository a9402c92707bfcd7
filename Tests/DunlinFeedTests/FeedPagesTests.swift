import CRDTCore
import DocStore
import DunlinFeed
import Synchronization
import TestKit
import Testing

/// Pages, which readers with the same filter share.
@Suite(.timeLimit(.minutes(5))) struct FeedPagesTests {
  private typealias Pages = FeedPages<[String]>

  /// Makes pages of so many bytes, and counts them.
  private final class Maker: Sendable {
    let pages: Pages
    private let bytes: Int
    private let count = Mutex(0)

    init(limit: Int, bytes: Int) {
      pages = Pages(byteLimit: limit)
      self.bytes = bytes
    }

    /// The number of pages with events that were made.
    var made: Int { count.withLock { $0 } }

    var making: Pages.Making {
      Pages.Making(pages) { [self] batch in
        if !batch.items.isEmpty { count.withLock { $0 += 1 } }
        return (batch.items.map(\.words), bytes)
      }
    }
  }

  /// All pages that there are now.
  private func words(_ reader: FeedReader, _ maker: Maker) async throws -> [String] {
    var words: [String] = []
    while let page = try await reader.next(waiting: .zero, maker.making), !page.content.isEmpty {
      words += page.content
    }
    return words
  }

  @Test func `a page is made once for all readers with the same filter, and its memory is given back`()
    async throws
  {
    let fixture = try FeedFixture()
    let maker = Maker(limit: 1 << 20, bytes: 1_000)
    let readers = try (0..<50).map { _ in try fixture.reader() }
    let other = try fixture.reader("SELECT * FROM cars WHERE n = 1")
    try fixture.put("a", ["n": .int(1)])
    for reader in readers + [other] {
      try await expectEqual(words(reader, maker), ["+a n=1 <- none"])
    }
    // Its memory is given back after a second, which 50 readers may outlast on a busy machine.
    #expect(maker.made < 25)
    while maker.pages.byteCount > 0 { try await Task.sleep(for: .milliseconds(50)) }
  }

  @Test func `readers of one transaction with many documents get all of its pages`() async throws {
    let fixture = try FeedFixture()
    let maker = Maker(limit: 1 << 20, bytes: 1_000)
    let readers = try (0..<3).map { _ in try fixture.reader() }
    try fixture.write { tx in
      for n in 0..<1_000 { try tx.upsert(["n": .int(Int64(n))], id: DocumentID("\(n)"), into: "cars") }
    }
    let whole = try await words(readers[0], maker)
    #expect(whole.count == 1_000 && Set(whole).count == 1_000)
    for reader in readers.dropFirst() { try await expectEqual(words(reader, maker), whole) }
    // A page whose memory was given back meanwhile is made once more.
    #expect((4..<10).contains(maker.made))
    try expectEqual(readers.map(\.position), Array(repeating: fixture.now(), count: 3))
  }

  @Test func `a reader in the midst of a transaction that is dropped goes on from the log`() async throws {
    let fixture = try FeedFixture()
    let maker = Maker(limit: 1 << 20, bytes: 1_000)
    let reader = try fixture.reader()
    try fixture.write { tx in
      for n in 0..<1_000 { try tx.upsert(["n": .int(1)], id: DocumentID("\(n)"), into: "cars") }
    }
    let first = try #require(try await reader.next(waiting: .zero, maker.making))
    #expect(first.content.count == 256)
    for round in 0..<5 {
      try fixture.write { tx in
        for n in 0..<1_000 { try tx.upsert(["n": .int(2)], id: DocumentID("\(round)-\(n)"), into: "cars") }
      }
    }
    let rest = try await words(reader, maker)
    // All documents of the transaction come again, as it is not known to be finished.
    #expect(rest.count == 6_000)
    #expect(rest.allSatisfy { $0.hasSuffix("log") })
  }

  @Test func `commits beyond the bound are dropped, and a reader behind them goes on from the log`()
    async throws
  {
    let fixture = try FeedFixture()
    let (fast, slow) = (try fixture.reader(), try fixture.reader())
    let text = Value.string(String(repeating: "x", count: 1 << 20))
    for n in 0..<12 {
      try fixture.put("\(n)", ["n": .int(Int64(n)), "text": text])
      let batch = try #require(try await fast.next(waiting: .zero))
      if case .change(let change)? = batch.items.first?.event { expect(!change.isResumed) }
    }
    let events = try await slow.all().items.map(\.event)
    #expect(events.count == 12)
    for case .change(let change) in events { expect(change.isResumed) }
    try fixture.put("a", ["n": .int(1)])
    #expect(try await slow.words() == ["+a n=1 <- none"])
  }

  @Test func `without room, the page that nobody takes from for longest ends its readers`() async throws {
    let fixture = try FeedFixture()
    let maker = Maker(limit: 2_500, bytes: 1_000)
    let readers = try (0..<4).map { try fixture.reader("SELECT * FROM cars WHERE n > -\($0 + 1)") }
    try fixture.put("a", ["n": .int(1)])
    let held = Mutex<[Int: FeedPage<[String]>]>([:])
    let ended = Mutex<[Int]>([])
    for index in 0..<3 {
      let page = try #require(try await readers[index].next(waiting: .zero, maker.making))
      _ = page.beginSending {
        ended.withLock { $0.append(index) }
        let page = held.withLock { $0.removeValue(forKey: index) }
        withExtendedLifetime(page) {}
      }
      held.withLock { $0[index] = page }
    }
    // Something is taken of the first page, so it is not the one.
    held.withLock { $0[0] }?.recordProgress()
    #expect(maker.pages.byteCount == 3_000)
    let last = try #require(try await readers[3].next(waiting: .seconds(60), maker.making))
    #expect(last.content == ["+a n=1 <- none"])
    #expect(ended.withLock { $0 } == [1])
    #expect(maker.pages.byteCount == 3_000)
  }
}
