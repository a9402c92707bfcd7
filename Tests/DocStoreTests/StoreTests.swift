import CRDTCore
import DocStore
import TestKit
import Testing

@Suite struct StoreTests {
  @Test func `keeps what was written when it is opened again`() throws {
    try TemporaryDirectory.with { directory in
      let store = try Store.open(at: directory.file("db"))
      let site = store.site
      let (id, receipt) = try store.write { try $0.upsert(["a": .int(1)], into: "cars") }
      #expect(receipt.sequence == 1)
      store.close()
      let again = try Store.open(at: directory.file("db"))
      #expect(again.site == site)
      let fields = try again.read { tx in
        let cars = try #require(try tx.collection("cars"))
        return try tx.withRecord(cars, id) { record, _ in try record.fields(cars.keys) }
      }
      #expect(fields == ["a": .int(1)])
    }
  }
}
