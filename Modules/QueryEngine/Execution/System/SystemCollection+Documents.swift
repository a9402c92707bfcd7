import CRDTCore
import DocStore

extension SystemCollection {
  /// The documents of the collection now.
  func documents(
    in source: borrowing some RecordSource & ~Copyable, _ facts: SystemFacts, _ context: StatementContext
  ) throws -> [[TextKey: Value]] {
    switch self {
    case .dual: return [[:]]
    case .collections:
      return try source.collections().map {
        ["_id": .string($0.name), "name": .string($0.name), "documents": .int(Int64($0.documentCount))]
      }
    case .oversizeDocuments:
      return try source.oversizeDocuments().map {
        ["_id": $0.id.value, "collection": .string($0.collection), "bytes": .int(Int64($0.byteCount))]
      }
    case .largeDocuments: return try Self.largeDocuments(in: source, facts.sizeLimits, context)
    case .indexes:
      return try source.collections().flatMap { info in
        try source.collection(info.name).map { try source.indexes(of: $0) } ?? []
      }
      .map(\.definition.systemDocument)
    case .activeRequests: return facts.requests.active
    case .requestHistory: return facts.requests.history
    case .sharedStatements: return facts.statements.documents
    case .dataSyncInfo: return facts.providers.connections
    case .metrics:
      return facts.metrics.sorted { $0.key < $1.key }.map {
        ["_id": .string($0.key.text), "value": .int($0.value)]
      }
    case .vitals: return [try facts.vitals()]
    case .systemInfo: return try systemInfo(in: source, facts)
    }
  }

  /// The memory for one row of the large documents, without its id.
  private static let largeDocumentBytes = 512

  private static func largeDocuments(
    in source: borrowing some RecordSource & ~Copyable, _ limits: (soft: Int, hard: Int),
    _ context: StatementContext
  ) throws -> [[TextKey: Value]] {
    var found: [[TextKey: Value]] = []
    var pace = try ScanPace(context)
    try source.forEachDocument(above: limits.soft, visiting: { try pace.step() }) { document in
      // A low soft limit may be exceeded by all documents.
      try context.reserve(largeDocumentBytes + document.id.bytes.count)
      found.append([
        "_id": document.id.value, "collection": .string(document.collection),
        "bytes": .int(Int64(document.byteCount)),
        "is_above_hard_limit": .bool(document.byteCount > limits.hard),
      ])
    }
    return found
  }

  private func systemInfo(
    in source: borrowing some RecordSource & ~Copyable, _ facts: SystemFacts
  ) throws -> [[TextKey: Value]] {
    let statistics = try facts.statistics()
    var rows = [
      Self.fact("store", "site", .string("\(facts.site)")),
      Self.fact("store", "fs_usage_total_bytes", .int(Int64(statistics.fileBytes))),
      Self.fact("store", "fs_usage_used_bytes", .int(Int64(statistics.usedBytes))),
      Self.fact("store", "fs_usage_limit_bytes", .int(Int64(statistics.mapBytes))),
    ]
    for info in try source.collections() {
      rows.append(Self.fact("store", "collection_num_docs[\(info.name)]", .int(Int64(info.documentCount))))
    }
    for (name, value) in facts.changedParameters.sorted(by: { $0.key < $1.key }) {
      rows.append(Self.fact("core", "non_default_system_parameter[\(name)]", value))
    }
    rows += facts.providers.facts
    let time = Instant(milliseconds: facts.environment.wallClock()).map { DateText.text(of: $0) }
    for index in rows.indices { rows[index]["timestamp"] = time.map { .string($0) } }
    return rows
  }

  private static func fact(_ namespace: String, _ key: String, _ value: Value) -> [TextKey: Value] {
    ["namespace": .string(namespace), "key": .string(key), "value": value]
  }
}

extension IndexDefinition {
  /// The index as `system:indexes` shows it.
  fileprivate var systemDocument: [TextKey: Value] {
    [
      "_id": .string("\(collection).\(name)"), "collection": .string(collection),
      "fields": .array(
        fields.map { field in
          var shown: [TextKey: Value] = [
            "direction": .string(field.isDescending ? "desc" : "asc"),
            "key": .array(field.path.map { .string($0.text) }),
          ]
          switch field.part {
          case .value: break
          case .lowercase: shown["part"] = .string("lower")
          case .elements: shown["part"] = .string("elements")
          }
          return .map(shown)
        }),
    ]
  }
}
