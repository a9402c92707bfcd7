import CRDTCore
import DocStore
import Foundation
import QueryEngine
import TestKit
import Testing

/// An index of which a page is damaged answers nothing any more, and is made anew.
@Suite struct DamagedIndexTests {
  private static let count = 2_000
  private static let pageBytes = 4_096

  private let directory: TemporaryDirectory
  private let options = StoreOptions(mapBytes: 64 << 20, log: { _, _ in })
  private let whole: [UInt8]

  init() throws {
    directory = try TemporaryDirectory()
    let store = try Store.open(at: directory.file("store"), options: options)
    _ = try store.write { transaction in
      for value in 0..<Self.count {
        try transaction.upsert(
          ["v": .int(Int64(value)), "s": .string("text \(value)")], id: DocumentID(.int(Int64(value))),
          into: "c")
      }
    }
    try store.createIndex(
      IndexDefinition(name: "i", collection: "c", fields: [IndexField(["v"]), IndexField(["s"])]))
    store.close()
    whole = Array(try Data(contentsOf: URL(filePath: directory.file("store/data.mdb"))))
  }

  private var leaves: [Int] {
    (2..<whole.count / Self.pageBytes).filter { page in
      let start = page * Self.pageBytes
      return whole[start + 10] == 2 && whole[start] == UInt8(page & 255)
    }
  }

  /// Opens the store as it was, and damages a page before anybody has met it.
  private func open(damaging page: Int, at place: Int) throws -> Store {
    let file = URL(filePath: directory.file("store/data.mdb"))
    try Data(whole).write(to: file)
    let store = try Store.open(at: directory.file("store"), options: options)
    let handle = try FileHandle(forUpdating: file)
    try handle.seek(toOffset: UInt64(page * Self.pageBytes + place))
    try handle.write(contentsOf: Data([whole[page * Self.pageBytes + place] ^ 0x40]))
    try handle.close()
    return store
  }

  private func index(of store: Store) throws -> IndexInfo? {
    try store.read { snapshot in
      let found = try #require(try snapshot.collection("c"))
      return try snapshot.readyIndexes(of: found).first
    }
  }

  private func number(_ engine: Engine, _ statement: String) throws -> Value? {
    try engine.execute(statement).rows.first?.values()["n"]
  }

  /// In the page's head, and in an entry.
  @Test(arguments: [12, 4_000])
  func `queries are answered right, and soon by an index again`(place: Int) throws {
    var met = 0
    for page in leaves where met < 2 {
      let store = try open(damaging: page, at: place)
      defer { store.close() }
      let engine = Engine(store: store, parameters: SystemParameters(), environment: .still)
      guard let former = try index(of: store) else { continue }
      // Not documents that are damaged: of those no index is made.
      guard let all = try? number(engine, "SELECT COUNT(*) AS n FROM c WHERE x IS MISSING") else { continue }
      expectEqual(all, .int(Int64(Self.count)))
      let expected = Value.int(Int64(Self.count * (Self.count - 1) / 2))
      try expectEqual(number(engine, "SELECT SUM(v) AS n FROM c WHERE v >= 0"), expected)
      guard try store.statistics().damages.contains(where: { $0.contains("table rows") }) else { continue }
      try expectEqual(number(engine, "SELECT damaged_pages AS n FROM system:vitals"), .int(1))
      met += 1
      let end = ContinuousClock.now + .seconds(60)
      while try index(of: store) == nil, ContinuousClock.now < end { Thread.sleep(forTimeInterval: 0.01) }
      let made = try #require(try index(of: store))
      expect(made.number != former.number && made.definition == former.definition)
      try expectEqual(number(engine, "SELECT SUM(v) AS n FROM c WHERE v >= 0"), expected)
      _ = try engine.execute("UPDATE c SET v = v + 1 WHERE v >= 0")
      let moved = try number(engine, "SELECT COUNT(*) AS n FROM c WHERE v > \(Self.count / 2)")
      expectEqual(moved, .int(Int64(Self.count / 2)))
      // What is left of the old one does not stand in the way, and is gone then.
      try store.compact()
      try expect(store.verify().isIntact)
      try expectEqual(number(engine, "SELECT COUNT(*) AS n FROM c WHERE v > \(Self.count / 2)"), moved)
    }
    #expect(met == 2)
  }
}
