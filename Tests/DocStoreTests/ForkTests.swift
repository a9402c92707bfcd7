import CRDTCore
import CRDTModel
import DocStore
import Foundation
import TestKit
import Testing

/// Stores that are copied bit by bit or put back, which nothing about their files tells.
@Suite struct ForkTests {
  private let directory: TemporaryDirectory
  private let options: StoreOptions

  init() throws {
    directory = try TemporaryDirectory()
    var options = StoreOptions(log: { _, _ in })
    options.trustsCopies = true
    options.witnessDirectory = nil
    self.options = options
  }

  private func open(_ name: String, _ change: (inout StoreOptions) -> Void = { _ in }) throws -> Store {
    var options = options
    change(&options)
    return try Store.open(at: directory.file(name), options: options)
  }

  private func copy(_ name: String, to copy: String) throws {
    try? FileManager.default.removeItem(atPath: directory.file(copy))
    try FileManager.default.copyItem(atPath: directory.file(name), toPath: directory.file(copy))
  }

  private static func pull(_ store: Store, _ other: Store) throws {
    let wire = try other.wire("a")
    try store.write(origin: .remote(1)) {
      try $0.merge(wire: wire.span.bytes, id: DocumentID("a"), in: "cars")
    }
  }

  private static func update(_ store: Store, _ edits: [Edit]) throws {
    try store.write { try $0.update(DocumentID("a"), in: "cars", edits) }
  }

  private func witnessDirectory() throws -> String {
    let path = directory.file("witness")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  private static func writers(_ store: Store) throws -> Int {
    try store.read { tx in
      let cars = try #require(try tx.collection("cars"))
      let sites = tx.sites
      let vector = try tx.withRecord(cars, DocumentID("a")) { record, _ in try record.vector(sites: sites) }
      return try #require(vector).elements.count
    }
  }

  // MARK: - Nothing is lost

  /// A disk that is restored loses no write and counts none twice.
  ///
  /// The control (`false`): an opening continues under the names of the former one. Then the writes from
  /// before the restore are taken for removed.
  @Test(arguments: [true, false])
  func `a disk that is put back loses and doubles nothing`(_ namesOpenings: Bool) throws {
    let hub = try open("hub")
    defer { hub.close() }
    let first = try open("device") { $0.namesOpenings = namesOpenings }
    try first.put("a", ["count": .counter(1), "x": .string("1"), "y": .string("1")])
    try Self.pull(hub, first)
    first.close()
    try copy("device", to: "image")
    let second = try open("device") { $0.namesOpenings = namesOpenings }
    try Self.update(second, [.increment(["count"], 10), .set(["x"], .string("2"))])
    try Self.pull(hub, second)
    second.close()
    try copy("image", to: "device")
    let third = try open("device") { $0.namesOpenings = namesOpenings }
    defer { third.close() }
    try Self.update(third, [.increment(["count"], 100), .set(["y"], .string("3"))])
    try Self.pull(hub, third)
    try Self.pull(third, hub)
    let right: [TextKey: Value] = ["count": .counter(111), "x": .string("2"), "y": .string("3")]
    for store in [hub, third] { expectEqual(try store.fields("a", in: "cars") == right, namesOpenings) }
  }

  @Test func `one image on two devices, that run at once, comes to what both wrote`() throws {
    let first = try open("device")
    try first.put("a", ["count": .counter(1)])
    first.close()
    try copy("device", to: "twin")
    let (one, other) = (try open("device"), try open("twin"))
    defer { for store in [one, other] { store.close() } }
    #expect(one.site == other.site)
    for round in 0..<3 {
      try Self.update(one, [.increment(["count"], 1), .set(["x"], .int(Int64(round)))])
      try Self.update(other, [.increment(["count"], 10), .set(["y"], .int(Int64(round)))])
      if round == 1 { try Self.pull(other, one) }
    }
    try Self.pull(one, other)
    try Self.pull(other, one)
    for store in [one, other] {
      expectEqual(
        try store.fields("a", in: "cars"), ["count": .counter(34), "x": .int(2), "y": .int(2)])
    }
  }

  /// A document that is ahead of the clock, by which births would be ahead, too.
  @Test func `a document from the future forks as any other`() throws {
    var future = options
    future.now = { 3_000_000_000_000 }
    let ahead = try Store.open(at: directory.file("ahead"), options: future)
    try ahead.put("a", ["count": .counter(0)])
    let first = try open("device")
    try Self.pull(first, ahead)
    ahead.close()
    try Self.update(first, [.increment(["count"], 1)])
    first.close()
    try copy("device", to: "image")
    let second = try open("device")
    try Self.update(second, [.increment(["count"], 10), .set(["x"], .int(1))])
    try Self.update(second, [.set(["z"], .int(1))])
    #expect(try Self.writers(second) == 3)
    let twin = try open("image")
    try Self.update(twin, [.increment(["count"], 100), .set(["y"], .int(1))])
    try Self.pull(twin, second)
    try Self.pull(second, twin)
    for store in [second, twin] {
      expectEqual(
        try store.fields("a", in: "cars"),
        ["count": .counter(111), "x": .int(1), "y": .int(1), "z": .int(1)])
    }
    for store in [second, twin] { store.close() }
  }

  // MARK: - Images with the numbers of their files

  private static func history(_ seed: UInt64, namesOpenings: Bool = true) throws -> ForkHistory<ForkedStore> {
    let start: UInt64 = 1_800_000_000_000
    let stores = try (1...4).map { try ForkedStore($0, now: start, namesOpenings: namesOpenings) }
    return ForkHistory(seed: seed, stores, at: start)
  }

  /// Copies of copies, images restored twice, branches that never return, and peers that saw only one.
  @Test(arguments: 0..<40 as Range<UInt64>)
  func `stores whose images nothing tells from them lose and double nothing`(seed: UInt64) throws {
    var history = try Self.history(seed)
    try history.run()
  }

  @Test func `they do where an opening goes on under the names of the former one`() throws {
    let failed = try (0..<40 as Range<UInt64>).count { seed in
      var history = try Self.history(seed, namesOpenings: false)
      do {
        try history.run()
        return false
      } catch is LawFailure { return true }
    }
    #expect(failed > 0)
  }

  // MARK: - What an opening is

  @Test func `a restart goes on as the opening before it, also after a crash`() throws {
    let witness = try witnessDirectory()
    for end in [false, true, true, false] {
      let store = try open("device") { ($0.witnessDirectory, $0.drive) = (witness, .manual) }
      try store.put("a", ["n": .int(1)])
      try Self.update(store, [.increment(["count"], 1)])
      expectEqual(try Self.writers(store), 1)
      if end { store.crash() } else { store.close() }
    }
  }

  @Test func `without a witness each opening that writes is one of its own`() throws {
    for count in 1...3 {
      let store = try open("device")
      defer { store.close() }
      try store.put("a", ["n": .int(Int64(count))])
      try Self.update(store, [.set(["n"], .int(0))])
      expectEqual(try Self.writers(store), count)
    }
  }

  /// The newest state goes on, and no other: not one that was put back, nor a second that is just as new.
  @Test func `what is not as it was left begins an opening`() throws {
    let witness = try witnessDirectory()
    func session(_ name: String, writers: Int) throws {
      let store = try open(name) { $0.witnessDirectory = witness }
      defer { store.close() }
      try store.put("a", ["n": .int(1)])
      try expectEqual(Self.writers(store), writers, "\(name)")
    }
    try session("device", writers: 1)
    try copy("device", to: "image")
    try copy("device", to: "twin")
    try session("device", writers: 1)
    try copy("image", to: "device")
    try session("device", writers: 2)
    try session("device", writers: 2)
    try session("twin", writers: 2)
  }

  @Test func `a copy of a store that is open begins an opening, also when the original has crashed`() throws {
    let witness = try witnessDirectory()
    let running = try open("device") { ($0.witnessDirectory, $0.drive) = (witness, .manual) }
    try running.put("a", ["n": .int(1)])
    try copy("device", to: "image")
    let twin = try open("image") { $0.witnessDirectory = witness }
    try Self.update(twin, [.set(["n"], .int(2))])
    #expect(try Self.writers(twin) == 2)
    twin.close()
    try copy("device", to: "image")
    try Self.update(running, [.set(["n"], .int(3))])
    running.crash()
    try copy("image", to: "device")
    let restored = try open("device") { $0.witnessDirectory = witness }
    defer { restored.close() }
    try Self.update(restored, [.set(["n"], .int(4))])
    #expect(try Self.writers(restored) == 2)
  }
}
