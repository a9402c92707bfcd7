import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

@Suite struct RowListTests {
  @Test func `a list has the elements that it was made of`() {
    for count in [0, 1, 127, 128, 129, 255, 256, 257, 1_000] {
      let list = RowList(0..<count)
      expectEqual(list.count, count)
      expectEqual(Array(list), Array(0..<count))
      expectEqual(list.indices.map { list[$0] }, Array(0..<count))
    }
  }

  @Test(arguments: 0..<8)
  func `windows of a long result follow it, far beyond what is shown`(seed: UInt64) throws {
    let workload = try LiveWorkload()
    var random = SeededGenerator(seed: seed)
    let statements = [
      "SELECT * FROM w ORDER BY n", "SELECT * FROM w ORDER BY n LIMIT 5",
      "SELECT * FROM w WHERE n > 100 ORDER BY n DESC LIMIT 10 OFFSET 3",
      "SELECT * FROM w LIMIT 30 OFFSET 300",
      "SELECT n FROM w OFFSET 200", "SELECT COUNT(*) FROM w WHERE n < 500",
      "SELECT COUNT(*) FROM w LIMIT 0",
    ]
    func write(_ count: Int) throws {
      let numbers = (0..<count).map { _ in random.int(below: 1_000) }
      let isRemoval = random.oneIn(3)
      _ = try workload.store.write { transaction in
        for number in numbers {
          let id = Value.string("d\((number * 7) % 700)")
          if isRemoval {
            try transaction.evict(DocumentID(id), in: "w")
          } else {
            try transaction.upsert(["_id": id, "n": .int(Int64((number * 31) % 1_000))], into: "w")
          }
        }
      }
    }
    try write(600)
    _ = workload.commits.take()
    var queries = try statements.map { try LiveQuery(dql: $0) }
    var results: [[Row]] = []
    for index in queries.indices { results.append(Array(try queries[index].start(workload.store))) }
    for _ in 0..<25 {
      try write(random.pick([1, 1, 3, 40, 300]))
      for commit in workload.commits.take() {
        for index in queries.indices {
          guard let diff = try queries[index].apply(commit) else { continue }
          diff.apply(to: &results[index])
        }
      }
      for (index, statement) in statements.enumerated() {
        var fresh = try LiveQuery(dql: statement)
        let expected = try fresh.start(workload.store)
        expectEqual(results[index].map(\.id), expected.map(\.id), "seed \(seed): \(statement)")
        try expectEqual(results[index].map { try $0.values() }, expected.map { try $0.values() })
        expectEqual(queries[index].rows.map(\.id), expected.map(\.id))
      }
    }
  }

  @Test func `changes that were put together give the diff between the first and the last result`() throws {
    let workload = try LiveWorkload()
    var random = SeededGenerator(seed: 3)
    _ = try workload.store.write { transaction in
      for number in 0..<900 {
        try transaction.upsert(["_id": .string("d\(number)"), "n": .int(Int64(number))], into: "w")
      }
    }
    _ = workload.commits.take()
    var query = try LiveQuery(dql: "SELECT * FROM w ORDER BY n")
    var shown = try query.start(workload.store)
    for _ in 0..<40 {
      for _ in 0..<random.pick([1, 2, 30]) {
        let id = Value.string("d\(random.int(below: 950))")
        let number = Value.int(Int64(random.int(below: 900)))
        let isRemoval = random.oneIn(4)
        _ = try workload.store.write { transaction in
          if isRemoval {
            try transaction.evict(DocumentID(id), in: "w")
          } else {
            try transaction.upsert(["_id": id, "n": number], into: "w")
          }
        }
      }
      for commit in workload.commits.take() { _ = try query.apply(commit) }
      let diff = ResultDiff(from: shown, to: query.rows)
      var rows = Array(shown)
      for move in diff.moves { expectEqual(shown[move.from].id, query.rows[move.to].id) }
      for (index, row) in zip(diff.updates, diff.replacedRows) {
        try expect(query.rows[index].id == row.id && query.rows[index].values() != row.values())
      }
      diff.apply(to: &rows)
      expectEqual(rows.map(\.id), query.rows.map(\.id))
      try expectEqual(rows.map { try $0.values() }, query.rows.map { try $0.values() })
      shown = query.rows
    }
  }
}
