import CRDTCore
import DocStore
import Foundation
import TestKit
import Testing

/// Counters and fields after a store was cloned or put back: nothing counts twice, nothing is lost.
@Suite struct CloneCounterTests {
  private let directory: TemporaryDirectory
  private let options = StoreOptions(log: { _, _ in })

  init() throws { directory = try TemporaryDirectory() }

  private func open(_ name: String) throws -> Store {
    try Store.open(at: directory.file(name), options: options)
  }

  private func copy(_ name: String, to copy: String) throws {
    try FileManager.default.copyItem(atPath: directory.file(name), toPath: directory.file(copy))
  }

  private func count(_ store: Store, _ amount: Int64) throws {
    try store.write { tx in
      let id = try DocumentID("a")
      if try tx.collection("cars") == nil { try tx.upsert([:], id: id, into: "cars") }
      try tx.update(id, in: "cars", [.increment(["n"], amount)])
    }
  }

  /// Sends the document whole from one store to another.
  private func send(from sender: Store, to receiver: Store) throws {
    let id = try DocumentID("a")
    let wire = try sender.read { tx -> [UInt8]? in
      guard let cars = try tx.collection("cars") else { return nil }
      let tables = RecordTables(keys: cars.keys, sites: tx.sites)
      return try tx.withRecord(cars, id) { record, _ in
        var out = ByteWriter()
        try WireDocument.append(record, lacking: VersionVector(), tables: tables, to: &out)
        return out.bytes
      }
    }
    guard let wire else { return }
    try receiver.write { _ = try $0.merge(wire: wire.span.bytes, id: id, in: "cars") }
  }

  private func total(_ store: Store) throws -> Value? { try store.fields("a", in: "cars")?["n"] }

  /// Hands everything to everybody, twice, in both orders.
  private func exchange(_ stores: [Store]) throws {
    for order in [stores, stores.reversed()] {
      for sender in order {
        for receiver in order where receiver !== sender { try send(from: sender, to: receiver) }
      }
    }
  }

  @Test func `increments of a store and of its clone all count, once each`() throws {
    let first = try open("db")
    try count(first, 5)
    first.close()
    try copy("db", to: "clone")
    let original = try open("db")
    let clone = try open("clone")
    try count(original, 1)
    try count(clone, 10)
    try count(original, 2)
    try count(clone, 20)
    try exchange([original, clone])
    for store in [original, clone] {
      try expectEqual(total(store), .counter(38))
      store.close()
    }
  }

  @Test func `what a peer got before a restore comes back, and later increments count on top`() throws {
    let peer = try open("peer")
    let before = try open("db")
    try count(before, 5)
    before.close()
    let backup = try Data(contentsOf: URL(fileURLWithPath: directory.file("db/data.mdb")))
    let lost = try open("db")
    try count(lost, 100)
    try lost.put("a", ["text": .string("written after the backup")])
    try send(from: lost, to: peer)
    let oldSite = lost.site
    lost.close()
    try backup.write(to: URL(fileURLWithPath: directory.file("db/data.mdb")))
    let restored = try open("db")
    #expect(restored.site != oldSite)
    #expect(try total(restored) == .counter(5))
    try count(restored, 7)
    try exchange([restored, peer])
    for store in [restored, peer] {
      try expectEqual(total(store), .counter(112))
      try expectEqual(store.fields("a", in: "cars")?["text"], .string("written after the backup"))
      store.close()
    }
  }

  @Test func `clones of clones, restarts and evictions keep the count exact`() throws {
    var generator = SeededGenerator(seed: 7)
    let first = try open("0")
    try count(first, 1)
    var expected: Int64 = 1
    first.close()
    for generation in 1...4 {
      try copy("\(Int.random(in: 0..<generation, using: &generator))", to: "\(generation)")
      let stores = try (0...generation).map { try open("\($0)") }
      expectEqual(Set(stores.map(\.site)).count, stores.count)
      for store in stores {
        let amount = Int64.random(in: 1...1_000, using: &generator)
        try count(store, amount)
        expected += amount
      }
      try exchange(stores)
      let evicting = try #require(stores.randomElement(using: &generator))
      try evicting.write { _ = try $0.evict(DocumentID("a"), in: "cars") }
      try evicting.put("a", [:])
      try count(evicting, 3)
      expected += 3
      try exchange(stores)
      for store in stores {
        try expectEqual(total(store), .counter(expected), "generation \(generation)")
        store.close()
      }
    }
  }
}
