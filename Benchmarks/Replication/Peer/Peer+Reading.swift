import BenchmarkSupport
import CRDTCore
import DocStore
import QueryEngine

extension Peer {
  /// Observes a collection with a live query.
  ///
  /// - Returns: When the row with each `number` was shown, by that number.
  func observe(_ collection: String, count: Int, ready: @Sendable () -> Void) async throws -> Reply {
    var query = try LiveQuery(dql: "SELECT * FROM \(collection)")
    let (commits, continuation) = AsyncStream.makeStream(of: Commit.self)
    let listener = store.onCommit { continuation.yield($0) }
    defer { listener.cancel() }
    try query.start(store)
    ready()
    var times = [Double](repeating: 0, count: count)
    var seen = 0
    for await commit in commits {
      guard let diff = try query.apply(commit) else { continue }
      for row in diff.insertedRows + diff.updatedRows {
        guard case .int(let number)? = try row.values()["number"], times.indices.contains(Int(number)) else {
          continue
        }
        times[Int(number)] = Measures.nanoseconds
        seen += 1
      }
      if times.last != 0 { break }
    }
    var reply = Reply()
    reply.times = times
    reply.figures["seen"] = Double(seen)
    return reply
  }

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
        try transaction.forEachRecord(in: found) { id, _, record in
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
