import BenchmarkSupport
import CRDTCore
import DocStore
import Foundation
import QueryEngine

/// Hot paths of JSON, the store and queries one by one, in this process and on one thread, per flight.
struct StoreLayers {
  let corpus: Corpus
  private static let rounds = 7

  func run(_ report: inout Report, in directory: URL) throws {
    let lines = try Data(contentsOf: URL(filePath: corpus.path)).split(separator: 10).map { Array($0) }
    var documents: [[TextKey: Value]] = []
    try measure("read from JSON", &report) {
      documents = try lines.map { line in
        guard case .map(let fields) = try JSON.parse(line) else {
          throw BenchmarkError("a line is no document")
        }
        return fields
      }
    }
    var text: [UInt8] = []
    try measure("write as JSON", &report) {
      for fields in documents {
        text.removeAll(keepingCapacity: true)
        JSON.write(.map(fields), to: &text)
      }
    }
    var store: Store?
    for round in 0..<Self.rounds {
      store?.close()
      let opened = try Store.open(at: directory.appendingPathComponent("layers-\(round)").path)
      try measure("insert, all in one transaction", &report, rounds: 1) {
        try opened.write { for fields in documents { try $0.upsert(fields, into: "flights") } }
      }
      store = opened
    }
    guard let store else { return }
    try measure("insert what is there already", &report) {
      try store.write { for fields in documents { try $0.upsert(fields, into: "flights") } }
    }
    try scan(store, &report)
    store.close()
    for _ in 0..<Self.rounds {
      let opened = try Store.open(at: store.path)
      for name in ["the first time since it was opened", "the second time"] {
        try measure("visit every record as it stands, \(name)", &report, rounds: 1) {
          try opened.read { transaction in
            guard let found = try transaction.collection("flights") else { return }
            try transaction.forEachStoredRecord(in: found) { _, _, _, _ in true }
          }
        }
      }
      opened.close()
    }
  }

  private func scan(_ store: Store, _ report: inout Report) throws {
    try measure("visit every record", &report) { try visit(store) { _, _ in } }
    for predicate in ["origin == 'JFK' && dep_delay > 60", "route.dest == 'SFO'"] {
      var matcher = try RecordMatcher(try Builder.parse(predicate))
      try store.read { if let found = try $0.collection("flights") { matcher.resolve(found.keys) } }
      let resolved = matcher
      try measure("visit every record with \(predicate)", &report) {
        try visit(store) { id, record in _ = resolved.matches(id, record) }
      }
    }
    try store.read { transaction in
      guard let found = try transaction.collection("flights") else { return }
      try measure("visit every record and decode all fields", &report) {
        try visit(store) { _, record in _ = try record.fields(found.keys) }
      }
    }
  }

  private func visit(_ store: Store, _ body: (RawSpan, borrowing RecordView) throws -> Void) throws {
    try store.read { transaction in
      guard let found = try transaction.collection("flights") else { return }
      try transaction.forEachRecord(in: found) { id, _, record in
        try body(id, record)
        return true
      }
    }
  }

  private func measure(
    _ name: String, _ report: inout Report, rounds: Int = rounds, _ body: () throws -> Void
  ) throws {
    for _ in 0..<rounds {
      let start = Measures.nanoseconds
      try body()
      report.add(
        "store: \(name), per flight", (Measures.nanoseconds - start) / Double(corpus.documents), .nanoseconds
      )
    }
  }
}
