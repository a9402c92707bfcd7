import CRDTCore
import DocStore
import DunlinFeed
import Foundation
import Synchronization
import TestKit
import Testing

/// Every version of a collection's documents, kept in the transactions that made them.
@Suite(.timeLimit(.minutes(15))) struct HistoryTests {
  private struct Stop: Error {}

  private let fixture: FeedFixture
  private let clock: HistoryClock
  private let history: HistoryKeeper

  init() throws {
    fixture = try FeedFixture()
    let clock = HistoryClock()
    self.clock = clock
    history = try HistoryKeeper(store: fixture.store, now: { clock.now })
  }

  private func id(_ text: String) throws -> DocumentID { try DocumentID(text) }

  private func words(_ page: HistoryPage) -> [String] {
    page.versions.map { version in
      let fields = version.fields.map { fields in
        fields.filter { $0.key != "_id" }.sorted { $0.key < $1.key }
          .map { "\($0.key.text)=\(JSON.text(of: $0.value))" }.joined(separator: ",")
      }
      let name: String = if case .string(let id) = version.id.value { id } else { "?" }
      return "\(version.time) \(name) \(fields ?? "\(version.kind)")"
    }
  }

  @Test func `each transaction that changes a document leaves a version of it`() async throws {
    try fixture.put("a", ["n": .int(0)])
    try await history.keep(HistoryPolicy(), of: "cars")
    try fixture.put("a", ["n": .int(1)])
    clock.set(1_010)
    try fixture.put("a", ["n": .int(1)])
    try fixture.put("b", ["n": .int(5)])
    try fixture.put("c", ["n": .int(5)], into: "boats")
    clock.set(1_020)
    try fixture.remove("a")
    try fixture.evict("b")
    try fixture.put("a", ["m": .int(2)])
    #expect(
      try words(history.versions(of: id("a"), in: "cars")) == ["1000 a n=1", "1020 a removed", "1020 a m=2"])
    #expect(
      try words(history.versions(in: "cars")) == [
        "1000 a n=1", "1010 b n=5", "1020 a removed", "1020 b evicted", "1020 a m=2",
      ])
    #expect(try words(history.versions(in: "boats")).isEmpty)
    #expect(try words(history.versions(of: id("z"), in: "cars")).isEmpty)
    #expect(try words(history.versions(in: "nowhere")).isEmpty)
    #expect(try fixture.store.verify().damages == [])
  }

  @Test func `a version is written with its transaction, or not at all`() async throws {
    try await history.keep(HistoryPolicy(), of: "cars")
    #expect(throws: Stop.self) {
      try fixture.write { tx in
        try tx.upsert(["n": .int(1)], id: DocumentID("a"), into: "cars")
        throw Stop()
      }
    }
    #expect(try history.totals(of: "cars") == (0, 0))
    try fixture.write { tx in
      try tx.upsert(["n": .int(1)], id: DocumentID("a"), into: "cars")
      try tx.beginGroup()
      try tx.upsert(["n": .int(2)], id: DocumentID("a"), into: "cars")
    }
    // What was between was never committed.
    #expect(try words(history.versions(in: "cars")) == ["1000 a n=2"])
  }

  @Test func `an erasure removes all versions of the document, and of no other`() async throws {
    try await history.keep(HistoryPolicy(), of: "cars")
    try fixture.put("a", ["text": .string("canary")])
    try fixture.put("b", ["n": .int(1)])
    clock.set(1_010)
    try fixture.put("a", ["text": .string("canary"), "n": .int(2)])
    let before = try history.totals(of: "cars")
    #expect(before.versions == 3)
    try fixture.write { _ = try $0.erase(DocumentID("a"), in: "cars") }
    #expect(try words(history.versions(of: id("a"), in: "cars")).isEmpty)
    #expect(try words(history.versions(in: "cars")) == ["1000 b n=1"])
    let after = try history.totals(of: "cars")
    #expect(after.versions == 1 && after.bytes < before.bytes)
    clock.set(1_020)
    try fixture.put("a", ["n": .int(3)])
    #expect(try words(history.versions(of: id("a"), in: "cars")) == ["1020 a n=3"])
    #expect(try fixture.store.verify().damages == [])
  }

  @Test func `a document is read as it was at a time`() async throws {
    try await history.keep(HistoryPolicy(), of: "cars")
    for n in 1...9 {
      clock.set(UInt64(n) * 100)
      try fixture.put("a", ["n": .int(Int64(n))])
      try fixture.put("b", ["n": .int(0)])
    }
    func value(at time: UInt64) throws -> Value? {
      try history.version(of: id("a"), in: "cars", at: time).version?.fields?["n"]
    }
    #expect(try value(at: 99) == nil)
    #expect(try value(at: 100) == .int(1))
    #expect(try value(at: 450) == .int(4))
    #expect(try value(at: .max) == .int(9))
    clock.set(1_000)
    try fixture.remove("a")
    let last = try history.version(of: id("a"), in: "cars", at: 2_000)
    #expect(last.version?.kind == .removed && last.version?.fields == nil)
    #expect(last.knownFrom == 100)
    #expect(try history.version(of: id("a"), in: "cars", at: 99).knownFrom == 100)
    let other = try history.version(of: id("z"), in: "cars", at: 2_000)
    #expect(other.version == nil && other.knownFrom == nil)
  }

  @Test func `versions are read page by page, and within times`() async throws {
    try await history.keep(HistoryPolicy(), of: "cars")
    for n in 0..<25 {
      clock.set(UInt64(n / 4))
      try fixture.put(n % 2 == 0 ? "a" : "b", ["n": .int(Int64(n))])
    }
    func pages(_ read: (HistoryPlace) throws -> HistoryPage) throws -> [Int] {
      var (counts, next) = ([Int](), Optional(HistoryPlace(time: 0, count: 0)))
      var seen: [Int64] = []
      while let place = next {
        let page = try read(place)
        counts.append(page.versions.count)
        for version in page.versions { if case .int(let n)? = version.fields?["n"] { seen.append(n) } }
        next = page.next
      }
      #expect(seen == seen.sorted() && Set(seen).count == seen.count)
      return counts
    }
    #expect(try pages { try history.versions(in: "cars", from: $0, limit: 10) } == [10, 10, 5])
    #expect(try pages { try history.versions(of: id("a"), in: "cars", from: $0, limit: 5) } == [5, 5, 3])
    #expect(try pages { try history.versions(in: "cars", from: $0, through: 2, limit: 100) } == [12])
    let some = try history.versions(
      of: id("b"), in: "cars", from: HistoryPlace(time: 2, count: 0), through: 3)
    #expect(some.versions.map(\.time) == [2, 2, 3, 3])
    #expect(some.next == nil)
  }

  @Test func `a version tells who wrote it, and when by their clock`() async throws {
    try await history.keep(HistoryPolicy(), of: "cars")
    let other = try FeedFixture(seed: 9)
    try other.put("a", ["n": .int(1)])
    let bytes = try other.store.read { tx in
      try tx.delta(of: DocumentID("a"), in: #require(try tx.collection("cars")))
    }
    try fixture.write { tx in
      _ = try tx.merge(#require(bytes), id: DocumentID("a"), into: "cars")
    }
    clock.set(1_005)
    try fixture.put("a", ["n": .int(2)])
    let versions = try history.versions(in: "cars").versions
    #expect(versions.map(\.site) == [other.store.site, fixture.store.site])
    #expect(versions.map(\.time) == [1_000, 1_005])
    #expect(versions.allSatisfy { $0.writtenAt >= 1_800_000_000_000 })
    #expect(
      JSON.text(of: .map(try #require(versions.last).object)).hasPrefix(
        #"{"documentId":"a","kind":"written","site":"\#(fixture.store.site)","time":1005,"value":{"_id":"a","n":2}"#
      ))
  }

  @Test func `a clock that goes back does not disturb the order`() async throws {
    try await history.keep(HistoryPolicy(), of: "cars")
    for time in [500, 400, 300, 600] as [UInt64] {
      clock.set(time)
      try fixture.put("a", ["n": .int(Int64(time))])
    }
    #expect(
      try words(history.versions(of: id("a"), in: "cars"))
        == ["500 a n=500", "500 a n=400", "500 a n=300", "600 a n=600"])
  }

  // MARK: - Bounds

  @Test func `versions that are too old go with later writes, and without any when they are trimmed`()
    async throws
  {
    try await history.keep(HistoryPolicy(age: .seconds(100)), of: "cars")
    for n in 0..<20 {
      clock.set(UInt64(n) * 1_000)
      try fixture.put("\(n % 3)", ["n": .int(Int64(n))])
    }
    #expect(try history.totals(of: "cars").versions == 20)
    clock.set(110_500)
    try fixture.put("x", ["n": .int(-1)])
    // A transaction does some of it.
    #expect(try history.totals(of: "cars").versions == 21 - 8)
    try await history.trim()
    // The last versions before the oldest time stay.
    #expect(
      try history.versions(in: "cars").versions.map(\.time).prefix(4) == [8_000, 9_000, 10_000, 11_000])
    clock.set(1_000_000)
    try await history.trim()
    #expect(
      try words(history.versions(in: "cars")) == [
        "17000 2 n=17", "18000 0 n=18", "19000 1 n=19", "110500 x n=-1",
      ])
    #expect(try history.totals(of: "cars").versions == 4)
    // Nothing stays of a document that is gone.
    for id in ["0", "1", "2", "x"] { try fixture.remove(id) }
    clock.set(2_000_000)
    try await history.trim()
    #expect(try history.totals(of: "cars") == (0, 0))
    #expect(try words(history.versions(of: id("1"), in: "cars")).isEmpty)
  }

  @Test(arguments: 1...8) func `within the age each document is known as it was, whatever has gone`(
    _ seed: UInt64
  ) async throws {
    var random = SeededGenerator(seed: seed)
    try await history.keep(HistoryPolicy(age: .seconds(20)), of: "cars")
    var model: [[String: Int64]] = []
    var state: [String: Int64] = [:]
    for second in 0..<120 {
      clock.set(UInt64(second) * 1_000)
      for _ in 0..<random.int(below: 3) {
        let id = "\(random.int(below: 6))"
        if random.oneIn(4) {
          try fixture.remove(id)
          state[id] = nil
        } else {
          state[id] = Int64(random.int(below: 1_000))
          try fixture.put(id, ["n": .int(state[id] ?? 0)])
        }
      }
      model.append(state)
      if random.oneIn(3) { try await history.trim() }
      for _ in 0..<20 {
        let (id, then) = ("\(random.int(below: 6))", max(0, second - random.int(below: 21)))
        let (version, knownFrom) = try history.version(
          of: DocumentID(id), in: "cars", at: UInt64(then) * 1_000 + 999)
        let found: Int64? = if case .int(let n)? = version?.fields?["n"] { n } else { nil }
        expectEqual(found, model[then][id], "\(second) \(then) \(id)")
        if let knownFrom { expectEqual(version != nil, knownFrom <= UInt64(then) * 1_000 + 999) }
      }
    }
    clock.set(1_000_000)
    try await history.trim()
    #expect(try history.totals(of: "cars").versions == state.count)
    let left = try history.versions(in: "cars", limit: 1_000).versions
    #expect(Set(left.map(\.id)) == Set(try state.keys.map { try DocumentID($0) }))
    #expect(left.count == state.count)
    #expect(try fixture.store.verify().damages == [])
  }

  @Test func `where there are too many bytes versions go that others have followed, and last ones only then`()
    async throws
  {
    try await history.keep(HistoryPolicy(byteLimit: 64 << 10), of: "cars")
    for n in 0..<3 { try fixture.put("reference \(n)", ["n": .int(Int64(n))]) }
    let text = String(repeating: "x", count: 1_000)
    for n in 0..<200 {
      clock.set(2_000 + UInt64(n))
      try fixture.put("hot", ["n": .int(Int64(n)), "text": .string(text)])
    }
    for n in 0..<3 {
      let (version, knownFrom) = try history.version(of: id("reference \(n)"), in: "cars", at: 2_100)
      expect(version?.fields?["n"] == .int(Int64(n)) && knownFrom == 1_000)
    }
    // Pages go through the ones that stay and the others together.
    var (times, next) = ([UInt64](), Optional(HistoryPlace(time: 0, count: 0)))
    while let place = next {
      let page = try history.versions(in: "cars", from: place, limit: 7)
      times += page.versions.map(\.time)
      next = page.next
    }
    #expect(times == times.sorted())
    #expect(try times.count == history.totals(of: "cars").versions)
    for n in 0..<200 {
      clock.set(3_000 + UInt64(n))
      try fixture.put("\(n)", ["n": .int(Int64(n)), "text": .string(text)])
    }
    try await history.trim()
    #expect(try (40 << 10...64 << 10).contains(history.totals(of: "cars").bytes))
    #expect(try history.version(of: id("reference 0"), in: "cars", at: 5_000) == (nil, nil))
    #expect(try history.version(of: id("199"), in: "cars", at: 5_000).version?.fields?["n"] == .int(199))
  }

  @Test func `the oldest versions go when there are too many bytes`() async throws {
    try await history.keep(HistoryPolicy(byteLimit: 64 << 10), of: "cars")
    let text = String(repeating: "x", count: 1_000)
    for n in 0..<300 {
      clock.set(1_000 + UInt64(n))
      try fixture.put("\(n % 10)", ["n": .int(Int64(n)), "text": .string(text)])
      try expect(history.totals(of: "cars").bytes <= 64 << 10)
    }
    let versions = try history.versions(in: "cars", limit: 1_000).versions
    #expect((50...65).contains(versions.count))
    #expect(versions.last?.time == 1_299)
    let totals = try history.totals(of: "cars")
    #expect(totals.versions == versions.count)
  }

  @Test func `a policy outlives the process, and ends with all versions`() async throws {
    do {
      let history = try HistoryKeeper(store: fixture.store, now: { [clock] in clock.now })
      try await history.keep(HistoryPolicy(age: .seconds(1_000), byteLimit: 1 << 20), of: "cars")
      for n in 0..<1_300 { try fixture.put("\(n)", ["n": .int(Int64(n))]) }
      withExtendedLifetime(history) {}
    }
    let again = try HistoryKeeper(store: fixture.store, now: { [clock] in clock.now })
    #expect(try again.policies == ["cars": HistoryPolicy(age: .seconds(1_000), byteLimit: 1 << 20)])
    try fixture.put("a", ["n": .int(1)])
    #expect(try again.totals(of: "cars").versions == 1_301)
    try await again.keep(nil, of: "cars")
    #expect(try again.policies.isEmpty)
    #expect(try again.totals(of: "cars") == (0, 0))
    var entries = 0
    try fixture.store.read { tx in
      for table in [SideTable("history"), SideTable("feed.history")] {
        try tx.forEachSideEntry(table) { _, _ in
          entries += 1
          return true
        }
      }
    }
    #expect(entries == 0)
    try fixture.put("a", ["n": .int(2)])
    #expect(try again.totals(of: "cars") == (0, 0))
  }

  @Test func `a policy that cannot be is refused by what is wrong`() async throws {
    let age = await #expect(throws: FeedError.self) {
      try await history.keep(HistoryPolicy(age: .zero), of: "cars")
    }
    #expect(age?.code == .argument)
    let size = await #expect(throws: FeedError.self) {
      try await history.keep(HistoryPolicy(byteLimit: 1), of: "cars")
    }
    #expect(size?.code == .argument)
    let name = await #expect(throws: StoreError.self) {
      try await history.keep(HistoryPolicy(), of: "__system")
    }
    #expect(name?.code == .invalidCollectionName)
    #expect(try history.policies.isEmpty)
  }

  @Test func `an order to keep versions and one to end that, at once, leave what the store says`()
    async throws
  {
    for round in 0..<30 {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for policy in [HistoryPolicy(), nil, HistoryPolicy(), nil] {
          group.addTask { [history] in try await history.keep(policy, of: "cars") }
        }
        try await group.waitForAll()
      }
      let isKept = try history.policy(of: "cars") != nil
      try expectEqual(HistoryKeeper(store: fixture.store).policies["cars"] != nil, isKept)
      try fixture.put("\(round)", ["n": .int(1)])
      try expect(history.versions(of: id("\(round)"), in: "cars").versions.isEmpty != isKept)
    }
  }

  @Test func `versions are kept of so many collections and no more`() async throws {
    for n in 0..<1_000 { try await history.keep(HistoryPolicy(), of: "c\(n)") }
    let refusal = await #expect(throws: FeedError.self) {
      try await history.keep(HistoryPolicy(), of: "cars")
    }
    #expect(refusal?.code == .limit)
    try await history.keep(HistoryPolicy(age: .seconds(9)), of: "c7")
    try await history.keep(nil, of: "c8")
    try await history.keep(HistoryPolicy(), of: "cars")
    #expect(try history.policies.count == 1_000)
  }

  @Test func `what is damaged keeps nobody from writing, and is told of where it is read`() async throws {
    let directory = try TemporaryDirectory()
    do {
      let fixture = try FeedFixture(in: directory)
      let history = try HistoryKeeper(store: fixture.store, now: { [clock] in clock.now })
      try await history.keep(HistoryPolicy(age: .seconds(1_000)), of: "cars")
      for n in 0..<3 { try fixture.put("a", ["n": .int(Int64(n)), "text": .string("version number \(n)")]) }
    }
    let path = directory.file("db") + "/data.mdb"
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    // The version in the middle; and how many there are, which stands behind the key's kind and collection.
    while let range = data.range(of: Data("version number 1".utf8)) {
      data.replaceSubrange(range, with: Data("version number\u{7}1".utf8))
    }
    let totals = Data([7] + Array("history".utf8) + [0, 0, 0, 0, 1])
    while let range = data.range(of: totals + Data(repeating: 0, count: 7) + Data([3])) {
      data[range.upperBound - 1] = 9
    }
    try data.write(to: URL(fileURLWithPath: path))
    let fixture = try FeedFixture(in: directory)
    let history = try HistoryKeeper(store: fixture.store, now: { [clock] in clock.now })
    #expect(
      try history.versions(of: id("a"), in: "cars").versions.map(\.kind) == [.written, .damaged, .written])
    try fixture.put("a", ["n": .int(7)])
    #expect(try history.totals(of: "cars").versions == 4)
    #expect(try history.versions(in: "cars").versions.last?.fields?["n"] == .int(7))
    clock.set(10_000_000)
    try await history.trim()
    #expect(try history.totals(of: "cars").versions == 1)
    #expect(try history.versions(of: id("a"), in: "cars").versions.map(\.fields?["n"]) == [.int(7)])
  }

  /// A store in which versions of `a` were kept, and its file was damaged then.
  private func damagedFixture(_ damage: (inout Data) -> Void) async throws -> FeedFixture {
    let directory = try TemporaryDirectory()
    do {
      let fixture = try FeedFixture(in: directory)
      let history = try HistoryKeeper(store: fixture.store, now: { [clock] in clock.now })
      try await history.keep(HistoryPolicy(age: .seconds(1_000)), of: "cars")
      for n in 0..<3 { try fixture.put("a", ["n": .int(Int64(n))]) }
      withExtendedLifetime(history) {}
    }
    let path = directory.file("db") + "/data.mdb"
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    damage(&data)
    try data.write(to: URL(fileURLWithPath: path))
    return try FeedFixture(in: directory)
  }

  @Test func `a damaged policy is reported, others stay in force, and it can be set again`() async throws {
    let fixture = try await damagedFixture { data in
      // A million milliseconds, behind the name.
      let entry = Data("feed.historycars".utf8) + [0, 0, 0, 0, 0, 0, 0x0F, 0x42, 0x40]
      while let range = data.range(of: entry) { data[range.upperBound - 1] = 7 }
    }
    let reports = Mutex<[String]>([])
    let history = try HistoryKeeper(
      store: fixture.store, now: { [clock] in clock.now },
      report: { line in reports.withLock { $0.append(line) } })
    #expect(
      reports.withLock { $0 } == [
        "The policy of the history of cars is damaged: no versions are kept until it is set again"
      ])
    #expect(try history.policies.isEmpty)
    try await history.keep(HistoryPolicy(), of: "boats")
    try fixture.put("a", ["n": .int(7)])
    #expect(try history.versions(of: id("a"), in: "cars").versions.count == 3)
    try await history.trim()
    try await history.keep(HistoryPolicy(), of: "cars")
    try fixture.put("a", ["n": .int(8)])
    #expect(try history.versions(of: id("a"), in: "cars").versions.count == 4)
  }

  @Test func `the end of a history takes versions along whose notes are damaged`() async throws {
    let fixture = try await damagedFixture { data in
      // The note of the second version: its place is the key's end, and its bytes' number follows.
      let key = Data([7] + Array("history".utf8) + [1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 3, 0xE8, 0, 0, 0, 1])
      var start = data.startIndex
      while let range = data.range(of: key, in: start..<data.endIndex) {
        data[range.upperBound] = 7
        start = range.upperBound
      }
    }
    let history = try HistoryKeeper(store: fixture.store, now: { [clock] in clock.now })
    #expect(try history.versions(in: "cars").versions.count == 2)
    #expect(try history.versions(of: id("a"), in: "cars").versions.count == 3)
    try await history.keep(nil, of: "cars")
    #expect(try history.versions(of: id("a"), in: "cars").versions.isEmpty)
  }

  // MARK: - Against a model

  @Test(arguments: 1...6) func `what is kept is what was committed, whatever happens`(_ seed: UInt64)
    async throws
  {
    var random = SeededGenerator(seed: seed)
    try await history.keep(HistoryPolicy(), of: "cars")
    var model: [[String: Int64]] = []
    var state: [String: Int64] = [:]
    for round in 0..<150 {
      clock.set(1_000 + UInt64(round))
      let isKept = !random.oneIn(5)
      var after = state
      let steps = (0..<(1 + random.int(below: 4))).map { _ in
        ("\(random.int(below: 5))", random.oneIn(4) ? nil : Int64(random.int(below: 5)))
      }
      var touched: Set<String> = []
      do {
        try fixture.write { tx in
          for (id, value) in steps where touched.insert(id).inserted {
            if let value {
              try tx.upsert(["n": .int(value)], id: DocumentID(id), into: "cars")
            } else {
              _ = try tx.remove(DocumentID(id), in: "cars")
            }
            after[id] = value
          }
          if !isKept { throw Stop() }
        }
        state = after
      } catch is Stop {}
      model.append(state)
    }
    for (round, expected) in model.enumerated() {
      for id in 0..<5 {
        let version = try history.version(
          of: DocumentID("\(id)"), in: "cars", at: 1_000 + UInt64(round)
        ).version
        let found: Int64? = if case .int(let n)? = version?.fields?["n"] { n } else { nil }
        expectEqual(found, expected["\(id)"], "\(round) \(id)")
      }
    }
    #expect(try fixture.store.verify().damages == [])
  }
}

/// A clock that is set by hand.
private final class HistoryClock: Sendable {
  private let time = Mutex<UInt64>(1_000)
  var now: UInt64 { time.withLock { $0 } }
  func set(_ time: UInt64) { self.time.withLock { $0 = time } }
}
