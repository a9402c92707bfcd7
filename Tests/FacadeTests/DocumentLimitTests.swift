import CRDTCore
import DocStore
import DunlinKit
import TestKit
import Testing

/// Documents that are more than every peer takes have errors of their own.
@Suite struct DocumentLimitTests {
  @Test func `a document of as many sites as there may be is not written by one more`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("db")
    let stored = try Store.open(at: path)
    let wire = CrowdedDocument.wire(0..<Limits.sitesPerDocument)
    try stored.write(origin: .remote(1)) {
      _ = try $0.merge(wire: wire.span.bytes, id: DocumentID("x"), in: "cars")
    }
    stored.close()
    let dunlin = try Dunlin(path: path, identity: .unsafeDevelopment(appID: "tests"))
    defer { try? dunlin.close() }
    let cars = dunlin.store.collection("cars")
    let writes: [() throws -> Void] = [
      { _ = try cars.upsert(["_id": "x", "n": 1]) },
      { _ = try cars.findByID("x").remove() },
      {
        _ = try dunlin.store.execute(query: "UPDATE cars SET n = 1 WHERE _id = 'x'") as DunlinQueryResult
      },
    ]
    for write in writes {
      let error = #expect(throws: DunlinError.self) { try write() }
      expectEqual(error?.code, .tooManySites)
    }
    #expect(try cars.findByID("x").exec()?["n"].intValue == Limits.sitesPerDocument - 1)
  }

  @Test func `a map of more keys than there may be is not written`() throws {
    let peer = try Peer()
    let cars = peer.store.collection("cars")
    let map = Dictionary(uniqueKeysWithValues: (0...Limits.keysPerMap).map { ("k\($0)", $0 as Any?) })
    for fields: [String: Any?] in [map, ["m": map], ["m": [map]]] {
      let error = #expect(throws: DunlinError.self) { try cars.upsert(fields) }
      expectEqual(error?.code, .tooManyKeys)
    }
    #expect(try cars.findAll().exec().isEmpty)
  }
}
