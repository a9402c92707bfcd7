import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

/// Objects that are declared as registers, written by two stores apart.
@Suite struct RegisterTests {
  private struct Device {
    let directory: TemporaryDirectory
    let store: Store
    let engine: Engine

    /// - Parameter lead: Milliseconds that its wall clock is ahead, so that its writes are the later ones.
    /// - Throws: What opening a store throws.
    init(lead: UInt64 = 0) throws {
      directory = try TemporaryDirectory()
      let now = { @Sendable in StoreOptions.systemMilliseconds() + lead }
      store = try Store.open(
        at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, now: now, log: { _, _ in }))
      engine = Engine(store: store, parameters: SystemParameters(), environment: .still)
    }

    func run(_ statement: String) throws { _ = try engine.execute(statement) }

    func document() throws -> String? {
      try engine.execute("SELECT * FROM places").rows.first.map { JSON.text(of: .map(try $0.values())) }
    }

    /// The document as another store takes it in.
    func whole() throws -> [UInt8] {
      let bytes = try store.read { transaction -> [UInt8]? in
        guard let places = try transaction.collection("places") else { return nil }
        return try transaction.delta(of: DocumentID("p"), in: places, since: VersionVector())
      }
      return try #require(bytes)
    }

    func take(_ bytes: [UInt8]) throws {
      _ = try store.write { try $0.merge(bytes, id: DocumentID("p"), into: "places") }
    }
  }

  private let first: Device
  private let second: Device

  init() throws {
    first = try Device()
    second = try Device(lead: 1_000)
  }

  private func meet() throws {
    let (one, two) = (try first.whole(), try second.whole())
    try first.take(two)
    try second.take(one)
    try #require(try first.document() == second.document())
  }

  @Test func `the later of two inserts of one id has its registers to itself`() throws {
    try first.run(
      """
      INSERT INTO COLLECTION places (at REGISTER, m MAP(r REGISTER), n REGISTER)
      DOCUMENTS ({'_id': 'p', 'at': {'street': 'Quay', 'zip': 1}, 'm': {'r': {'a': 1}, 'k': 1}, 'n': 1})
      """)
    try second.run(
      """
      INSERT INTO COLLECTION places (at REGISTER, m MAP(r REGISTER))
      DOCUMENTS ({'_id': 'p', 'at': {'city': 'Kiel'}, 'm': {'r': {'b': 2}, 'l': 2}})
      """)
    try meet()
    #expect(
      try first.document()
        == #"{"_id":"p","at":{"city":"Kiel"},"m":{"k":1,"l":2,"r":{"b":2}},"n":1}"#)
  }

  @Test func `the later of two updates has a register to itself where none stood`() throws {
    try first.run("INSERT INTO places DOCUMENTS ({'_id': 'p'})")
    try second.take(try first.whole())
    try first.run("UPDATE COLLECTION places (at REGISTER) SET at = {'street': 'Quay', 'zip': 1}")
    try second.run("UPDATE COLLECTION places (at REGISTER) SET at = {'city': 'Kiel'}")
    try meet()
    #expect(try first.document() == #"{"_id":"p","at":{"city":"Kiel"}}"#)
  }
}
