import CRDTCore
import DocStore
import Synchronization
import TestKit
import Testing

/// What else a store holds of a document goes with its erasure, here or for a peer.
@Suite struct ErasureHookTests {
  private let answers = SideTable("answers")
  /// The table by which the store finds the values of a document.
  private let index = SideTable("store.contents")

  private func hash(_ id: String) throws -> HashedDocument {
    HashedDocument(collection: "cars", id: try DocumentID(id))
  }

  private func keep(_ value: UInt8, contentOf documents: [HashedDocument], in store: Store) throws {
    try store.write { try $0.setSideValue([value], answers, key: [value], contentOf: documents) }
  }

  private func keep(_ value: UInt8, contentOf ids: String..., in store: Store) throws {
    try keep(value, contentOf: ids.map(hash), in: store)
  }

  private func values(in store: Store) throws -> [UInt8] {
    try store.read { transaction in
      var found: [UInt8] = []
      try transaction.forEachSideEntry(answers) { _, value in
        found += value
        return true
      }
      return found
    }
  }

  private func erase(_ ids: String..., in store: Store) throws {
    try store.write { transaction in
      for id in ids { _ = try transaction.erase(DocumentID(id), in: "cars") }
    }
  }

  @Test func `an erasure removes the side values with content of the document, and no others`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    for id in ["x", "y", "z"] { try store.put(id, ["n": .int(1)]) }
    try keep(1, contentOf: "x", "y", in: store)
    try keep(2, contentOf: "y", in: store)
    try keep(3, contentOf: "z", in: store)
    try keep(4, contentOf: [HashedDocument(collection: "trucks", id: DocumentID("x"))], in: store)
    try store.write { _ = try $0.remove(DocumentID("y"), in: "cars") }
    try store.put("x", ["n": .int(2)])
    #expect(try values(in: store) == [1, 2, 3, 4], "nothing was erased")
    try erase("x", in: store)
    #expect(try values(in: store) == [2, 3, 4])
    try fixture.reopen()
    try erase("y", "unknown", in: fixture.store)
    #expect(try values(in: fixture.store) == [3, 4])
    #expect(try fixture.store.read { try $0.sideEntryCount(index) } == 2)
    #expect(try fixture.store.verify().damages == [])
  }

  @Test func `so does the erasure that a peer brings`() throws {
    let here = try StoreFixture(seed: 1)
    let away = try StoreFixture(seed: 2)
    try here.store.put("x", ["n": .int(1)])
    try here.store.send("x", to: away.store)
    try keep(1, contentOf: "x", in: away.store)
    try keep(2, contentOf: "y", in: away.store)
    try erase("x", in: here.store)
    try here.store.send("x", to: away.store)
    #expect(try values(in: away.store) == [2])
  }

  @Test func `a value of any document of a collection goes with the first of them`() throws {
    let fixture = try StoreFixture()
    try keep(1, contentOf: [HashedDocument(anyOf: "cars")], in: fixture.store)
    try keep(2, contentOf: [HashedDocument(anyOf: "trucks")], in: fixture.store)
    try erase("x", in: fixture.store)
    #expect(try values(in: fixture.store) == [2])
  }

  @Test func `a value that is removed with its documents leaves nothing`() throws {
    let fixture = try StoreFixture()
    let documents = try ["x", "y"].map(hash)
    try keep(1, contentOf: documents, in: fixture.store)
    #expect(try fixture.store.read { try $0.sideEntryCount(index) } == 2)
    try fixture.store.write { try $0.removeSideValue(answers, key: [1], contentOf: documents) }
    #expect(try values(in: fixture.store) == [])
    #expect(try fixture.store.read { try $0.sideEntryCount(index) } == 0)
  }

  @Test func `a hashed document is read as it was written`() throws {
    let document = try hash("x")
    #expect(HashedDocument(document.bytes[...]) == document)
    #expect(document.bytes.count == HashedDocument.byteCount)
    #expect(HashedDocument(document.bytes.dropLast()) == nil)
    #expect(try document != hash("y"))
    #expect(try document != HashedDocument(collection: "trucks", id: DocumentID("x")))
  }

  @Test func `a hook hears of erasures alone, and undoes them with an error`() throws {
    struct Veto: Error {}
    let fixture = try StoreFixture()
    let store = fixture.store
    let heard = Mutex<[Set<HashedDocument>]>([])
    let isVetoed = Mutex(false)
    let listener = store.beforeErasure { _, documents in
      if isVetoed.withLock({ $0 }) { throw Veto() }
      heard.withLock { $0.append(documents) }
    }
    for id in ["x", "z"] { try store.put(id, ["n": .int(1)]) }
    try store.write { _ = try $0.remove(DocumentID("x"), in: "cars") }
    #expect(heard.withLock { $0 } == [])
    try erase("x", "y", in: store)
    #expect(try heard.withLock { $0 } == [[hash("x"), hash("y")]])
    isVetoed.withLock { $0 = true }
    try keep(1, contentOf: "z", in: store)
    #expect(throws: Veto.self) { try erase("z", in: store) }
    #expect(try store.state("z") == .alive)
    #expect(try values(in: store) == [1])
    listener.cancel()
    try erase("z", in: store)
    #expect(try store.state("z") == .deleted)
    #expect(try values(in: store) == [])
  }
}
