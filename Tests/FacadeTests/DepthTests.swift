import DunlinKit
import Foundation
import TestKit
import Testing

/// One depth limit at every entrance of the outer API: 64 levels of maps and arrays in the value of a field.
@Suite struct DepthTests {
  /// A value that encodes itself as one array in the other.
  final class Nest: Codable, Sendable {
    let inner: Nest?

    init(levels: Int) { inner = levels > 1 ? Nest(levels: levels - 1) : nil }

    init(from decoder: any Decoder) throws {
      var container = try decoder.unkeyedContainer()
      inner = container.isAtEnd ? nil : try container.decode(Nest.self)
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.unkeyedContainer()
      if let inner { try container.encode(inner) }
    }

    var levels: Int { 1 + (inner?.levels ?? 0) }
  }

  /// Encodes an array in an array, without a type of its own for each.
  struct Flat: Encodable, Sendable {
    let levels: Int

    func encode(to encoder: any Encoder) throws {
      var container = encoder.unkeyedContainer()
      for _ in 1..<levels { container = container.nestedUnkeyedContainer() }
      try container.encode(1)
    }
  }

  /// Encodes a map in a map.
  struct FlatMap: Encodable, Sendable {
    enum Key: String, CodingKey { case m }
    let levels: Int

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      for _ in 1..<levels { container = container.nestedContainer(keyedBy: Key.self, forKey: .m) }
      try container.encode(1, forKey: .m)
    }
  }

  struct Document<Field: Encodable & Sendable>: Encodable, Sendable { var field: Field }

  let peer: Peer
  var documents: DunlinCollection { peer.store["documents"] }

  init() throws { peer = try Peer() }

  private func map(_ levels: Int) -> Any {
    var value: Any = 1
    for _ in 0..<levels { value = ["m": value] }
    return value
  }

  private func array(_ levels: Int) -> Any {
    var value: Any = 1
    for _ in 0..<levels { value = [value] }
    return value
  }

  private func literal(_ levels: Int, _ open: String, _ close: String) -> String {
    String(repeating: open, count: levels) + "1" + String(repeating: close, count: levels)
  }

  private func levels(_ field: DunlinDocumentPath) -> Int {
    var (field, count) = (field, 0)
    while field.array != nil || field.dictionary != nil {
      field = field.array != nil ? field[0] : field["m"]
      count += 1
    }
    return count
  }

  private func refusing(_ write: () throws -> Void) {
    let error = #expect(throws: DunlinError.self) { try write() }
    #expect([.limit, .argument, .invalidDocumentID].contains(error?.code))
  }

  @Test func `dictionaries take 64 levels and refuse 65 and 5,000`() throws {
    for nested in [map, array] {
      let id = try documents.upsert(["field": nested(64)])
      expectEqual(levels(try #require(try documents.findByID(id).exec())["field"]), 64)
      documents.findByID(id).update { $0?["other"].set(nested(64)) }
      expectEqual(levels(try #require(try documents.findByID(id).exec())["other"]), 64)
      for count in [65, 5_000] {
        refusing { try documents.upsert(["field": nested(count)]) }
        refusing {
          try documents.findByID(id).update {
            $0?["other"].set(nested(count))
            try Task.checkCancellation()
          }
        }
        refusing { _ = try DunlinDocumentID(value: nested(count)) }
      }
    }
  }

  @Test func `paths inside an update are as deep as values`() throws {
    let id = try documents.upsert(["m": 1])
    func update(_ count: Int) throws {
      try documents.findByID(id).update { document in
        guard var path = document?["m"] else { return }
        for _ in 1..<count { path = path["m"] }
        path.set(1)
        try Task.checkCancellation()
      }
    }
    try update(65)
    #expect(levels(try #require(try documents.findByID(id).exec())["m"]) == 64)
    for count in [66, 5_000] { refusing { try update(count) } }
  }

  @Test func `Codable values take 64 levels and refuse 65 and 5,000`() throws {
    struct Back: Decodable { var field: Nest }
    let id = try documents.upsert(Document(field: Nest(levels: 64)))
    #expect(try documents.findByID(id).exec()?.decoded(as: Back.self).field.levels == 64)
    for id in [
      try documents.upsert(Document(field: Flat(levels: 64))),
      try documents.upsert(Document(field: FlatMap(levels: 64))),
    ] {
      expectEqual(levels(try #require(try documents.findByID(id).exec())["field"]), 64)
    }
    for count in [65, 5_000] {
      refusing { try documents.upsert(Document(field: Nest(levels: count))) }
      refusing { try documents.upsert(Document(field: Flat(levels: count))) }
      refusing { try documents.upsert(Document(field: FlatMap(levels: count))) }
    }
  }

  @Test(arguments: [("[", "]"), ("{'m':", "}")])
  func `literals take 64 levels and refuse 65`(open: String, close: String) async throws {
    let store = peer.store
    func insert(_ count: Int) async throws {
      try await store.execute(
        query: "INSERT INTO documents DOCUMENTS ({'_id': 1, 'field': \(literal(count, open, close))})")
    }
    try await insert(64)
    #expect(levels(try #require(try documents.findByID(1).exec())["field"]) == 64)
    try await store.execute(query: "UPDATE documents SET other = \(literal(64, open, close))")
    #expect(levels(try #require(try documents.findByID(1).exec())["other"]) == 64)
    for count in [65, 300] {
      await #expect(throws: DunlinError.self) { try await insert(count) }
      await #expect(throws: DunlinError.self) {
        try await store.execute(query: "UPDATE documents SET other = \(literal(count, open, close))")
      }
      await #expect(throws: DunlinError.self) {
        try await store.execute(query: "SELECT * FROM documents WHERE other = \(literal(count, open, close))")
      }
    }
  }

  @Test func `arguments take 64 levels and refuse 65 and 5,000`() throws {
    let store = peer.store
    for nested in [map, array] {
      let document: [String: Any?] = ["_id": 1, "field": nested(64)]
      try store.execute(
        query: "INSERT INTO documents DOCUMENTS (:d) ON ID CONFLICT DO UPDATE", arguments: ["d": document])
      expectEqual(levels(try #require(try documents.findByID(1).exec())["field"]), 64)
      try store.execute(query: "UPDATE documents SET other = :v", arguments: ["v": nested(64)])
      for count in [65, 5_000] {
        refusing {
          try store.execute(query: "UPDATE documents SET other = :v", arguments: ["v": nested(count)])
        }
        refusing {
          let document: [String: Any?] = ["_id": 2, "field": nested(count)]
          try store.execute(query: "INSERT INTO documents DOCUMENTS (:d)", arguments: ["d": document])
        }
        refusing { _ = try documents.find("field == $args.v", args: ["v": nested(count)]).exec() }
      }
    }
  }
}
