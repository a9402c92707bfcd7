import BenchmarkSupport
import CRDTCore
import DocStore
import Foundation
import QueryEngine

/// Dunlin's engine over its store.
final class DunlinQueries: QueryContender {
  private let store: Store
  private let engine: Engine
  private let prepares: Bool
  private var prepared: [String: PreparedStatement] = [:]
  private static let batch = 1_000

  init(directory: String, prepares: Bool) throws {
    store = try Store.open(at: directory)
    engine = Engine(
      store: store, parameters: SystemParameters(),
      environment: EngineEnvironment(now: { UInt64(Measures.nanoseconds) }))
    self.prepares = prepares
  }

  func fill(_ collection: FilledCollection) throws {
    var reader = try CorpusReader(path: collection.corpus)
    while true {
      let documents = try reader.next(Self.batch)
      if documents.isEmpty { break }
      try store.write { transaction in
        for document in documents {
          _ = try transaction.upsert(json: document.text.span.bytes, into: collection.name)
        }
      }
    }
    for fields in collection.indexes {
      try store.createIndex(
        IndexDefinition(
          name: fields.joined(separator: "_"), collection: collection.name,
          fields: fields.map { IndexField([$0]) }))
    }
  }

  func finish() {}

  private func result(_ query: BenchmarkQuery, _ id: String) throws -> QueryResult? {
    let arguments: [TextKey: Value] = query.isPoint ? ["id": .string(id)] : [:]
    do {
      guard prepares else { return try engine.execute(query.dql, arguments: arguments) }
      let statement = try prepared[query.dql] ?? engine.prepare(query.dql)
      prepared[query.dql] = statement
      return try engine.execute(statement, arguments: arguments)
    } catch let error as QueryError where error.code == .unsupported {
      return nil
    }
  }

  func run(_ query: BenchmarkQuery, id: String) throws -> Int? { try result(query, id)?.rows.count }

  func answer(_ query: BenchmarkQuery, id: String) throws -> [String]? {
    try result(query, id)?.rows.map { row in
      let values = try row.values()
      return Answer.row(query.columns.map { Self.text(values[$0]) })
    }
  }

  static func text(_ value: Value?) -> String {
    switch value {
    case nil, .null: "-"
    case .int(let number), .counter(let number): String(number)
    case .double(let number): Answer.number(number)
    case .string(let text): text
    case .some(let other): JSON.text(of: other)
    }
  }

  func close() { store.close() }
}
