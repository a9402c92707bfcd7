import BenchmarkSupport
import CRDTCore
import DocStore
import QueryEngine

extension Peer {
  /// Runs a predicate over all documents of a collection, on their records.
  func scan(_ collection: String, _ predicate: String, rounds: Int) throws -> Reply {
    var reply = Reply()
    var matcher = try RecordMatcher(try Builder.parse(predicate))
    for _ in 0..<rounds {
      var visited = 0
      var matches = 0
      let start = Measures.nanoseconds
      try store.read { transaction in
        guard let found = try transaction.collection(collection) else { return }
        matcher.resolve(found.keys)
        let matcher = matcher
        try transaction.forEachStoredRecord(in: found) { _, id, _, record in
          visited += 1
          if record.isAlive, matcher.matches(id, record) { matches += 1 }
          return true
        }
      }
      reply.times.append((Measures.nanoseconds - start) / Double(max(visited, 1)))
      reply.figures["matches"] = Double(matches)
    }
    return reply
  }

  func holds(_ collection: String, _ id: String) throws -> Bool {
    let key = try DocumentID(id)
    return try store.read { transaction in
      guard let found = try transaction.collection(collection) else { return false }
      return try transaction.record(found, key) != nil
    }
  }
}
