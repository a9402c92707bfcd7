import CRDTCore
import DocStore
import TestKit
import Testing

@testable import dunlin

/// What every sink of an import promises.
struct SinkContract {
  let sink: any DocumentSink
  /// The documents of a collection, as they are in the end.
  let contents: (String) throws -> [Value: [TextKey: Value]]

  private func batch(_ texts: String..., interpretsTags: Bool = true) -> DocumentBatch {
    var batch = DocumentBatch(interpretsTags: interpretsTags)
    for (index, text) in texts.enumerated() { batch.append(Array(text.utf8), line: index + 1) }
    return batch
  }

  /// Checks each promise; the sink is closed at the end.
  func check() async throws {
    try await sink.insert(batch(#"{"_id":1,"a":1}"#, #"{"_id":2}"#), into: "things", strategy: .merge)
    #expect(try contents("things") == [.int(1): ["a": .int(1)], .int(2): [:]])
    // Merging, and writing only what is not there.
    try await sink.insert(batch(#"{"_id":1,"b":2}"#), into: "things", strategy: .merge)
    try await sink.insert(batch(#"{"_id":1,"a":9}"#), into: "things", strategy: .insertDefaultIfAbsent)
    #expect(try contents("things")[.int(1)] == ["a": .int(1), "b": .int(2)])
    // All of a batch or nothing, and the document that is at fault.
    for bad in [#"{"_id":1.5}"#, #"{"_id":4,"#, "[5]"] {
      let error = await #expect(throws: RefusedDocument.self) {
        try await sink.insert(batch(#"{"_id":3}"#, bad, #"{"_id":6}"#), into: "things", strategy: .merge)
      }
      expect(error?.index == 1 && error?.message.isEmpty == false, "\(bad)")
    }
    #expect(try contents("things").count == 2)
    // Tags are values or maps, and an id is made where there is none.
    let counter = #"{"_id":7,"n":{"$counter":3}}"#
    try await sink.insert(batch(counter), into: "tagged", strategy: .merge)
    try await sink.insert(batch(counter, interpretsTags: false), into: "plain", strategy: .merge)
    #expect(try contents("tagged") == [.int(7): ["n": .counter(3)]])
    #expect(try contents("plain") == [.int(7): ["n": .map(["$counter": .int(3)])]])
    try await sink.insert(batch("{}", "{}"), into: "others", strategy: .merge)
    #expect(try contents("others").count == 2)
    try sink.close()
  }
}

@Suite struct DocumentSinkTests {
  @Test func `a store of this process is a sink`() async throws {
    try await TemporaryDirectory.with { directory in
      let store = try Store.open(at: directory.file("store"))
      try await SinkContract(sink: StoreSink(store: store)) { try store.contents(of: $0) }.check()
      // It is closed: another may open it.
      try Store.open(at: directory.file("store")).close()
    }
  }
}

extension Store {
  /// The documents of a collection.
  func contents(of name: String) throws -> [Value: [TextKey: Value]] {
    try read { transaction in
      var found: [Value: [TextKey: Value]] = [:]
      guard let collection = try transaction.collection(name) else { return [:] }
      try transaction.forEachRecord(in: collection) { id, _, record in
        found[try DocumentID(validating: id).value] = try record.fields(collection.keys)
        return true
      }
      return found
    }
  }
}
