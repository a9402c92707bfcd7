import CRDTCore
import DocStore
import TestKit
import Testing

/// Rows give back the very values that they were made of, or say that they do not.
@Suite struct IndexValuesTests {
  private static let scalars: [Value?] = [
    nil, .null, .bool(false), .bool(true), .int(0), .int(1), .int(-1), .int(127), .int(-128), .int(1_000),
    .int(.max), .int(.min), .int(.max - 1), .int(.min + 1), .int(1 << 53), .int(1 << 53 + 1),
    .int(-(1 << 53) - 1), .int(1 << 62 + 513), .double(0), .double(-0.0), .double(1), .double(-1),
    .double(0.1), .double(-1e300), .double(.infinity), .double(-.infinity), .double(.leastNonzeroMagnitude),
    .double(9.007199254740993e15), .double(-9.223372036854775808e18), .double(9.223372036854775808e18),
    .counter(0), .counter(-7), .counter(1 << 54 + 1), .string(""), .string("a\u{0}\u{1}\u{2}é"),
    .string(String(repeating: "x", count: 100)), .bytes([]), .bytes([0, 1, 2, 255]),
  ]

  @Test func `every scalar comes back, in ascending and descending fields and beside others`() throws {
    let fixture = try StoreFixture()
    let count = Self.scalars.count
    try fixture.store.write { tx in
      for number in 0..<count * 3 {
        var fields: [TextKey: Value] = [:]
        fields["a"] = Self.scalars[number % count]
        fields["b"] = Self.scalars[number * 7 % count]
        fields["c"] = Self.scalars[(number + number / count) % count]
        try tx.upsert(fields, id: DocumentID(.int(Int64(number))), into: "cars")
      }
    }
    for definition: IndexDefinition in [.cars("up", "a", "b", "c"), .cars("down", "-c", "-a", "b")] {
      try fixture.store.createIndex(definition)
    }
    try fixture.store.read { tx in
      let collection = try #require(try tx.collection("cars"))
      for index in try tx.readyIndexes(of: collection) {
        let fields = index.definition.fields
        try tx.forEachRow(in: index) { row in
          var values: [Value?] = Array(repeating: .string("old"), count: fields.count)
          let isRead = row.read(fields, into: &values)
          let document = try tx.withRecord(numbered: row.document, in: collection) { _, _, record in
            try record.fields(collection.keys)
          }
          let stored = try #require(document)
          expect(isRead && values == fields.map { stored[$0.path[0]] })
          return true
        }
      }
    }
    #expect(try fixture.store.indexFindings() == [])
  }

  @Test func `what a row does not have is for its document to show`() throws {
    let fixture = try StoreFixture()
    let values: [Value] = [
      .array([.int(1)]), .map(["x": .int(1)]), .string(String(repeating: "l", count: 260)),
      .attachment(AttachmentToken(id: [1, 2, 3], byteCount: 7)),
    ]
    for (number, value) in values.enumerated() { try fixture.store.put("d\(number)", ["a": value]) }
    try fixture.store.createIndex(.cars("up", "a"))
    try fixture.store.read { tx in
      let collection = try #require(try tx.collection("cars"))
      let index = try #require(try tx.readyIndexes(of: collection).first)
      var count = 0
      try tx.forEachRow(in: index) { row in
        var found: [Value?] = [nil]
        #expect(row.read(index.definition.fields, into: &found) == false)
        count += 1
        return true
      }
      #expect(count == values.count)
    }
  }

  @Test func `a number that changes its kind alone changes its row`() throws {
    let fixture = try StoreFixture()
    try fixture.store.createIndex(.cars("up", "a"))
    for value: Value in [.int(0), .double(0), .double(-0.0), .int(0), .double(5), .int(5), .counter(0)] {
      try fixture.store.put("d", ["a": value])
      try fixture.store.read { tx in
        let collection = try #require(try tx.collection("cars"))
        let index = try #require(try tx.readyIndexes(of: collection).first)
        let stored = try #require(try fixture.store.fields("d", in: "cars"))
        try tx.forEachRow(in: index) { row in
          var found: [Value?] = [nil]
          expect(row.read(index.definition.fields, into: &found) && found == [stored["a"]])
          return true
        }
      }
      try expectEqual(fixture.store.indexFindings(), [])
      try expectEqual(fixture.store.indexes().map(\.rowCount), [1])
    }
  }
}
