import DunlinKit
import Foundation
import TestKit
import Testing

/// Every operation in every form: builder and DQL, blocking and awaited, alone and in transactions.
///
/// The table of the page `Documentation/Forms.md` has the same rows and columns.
@Suite(.timeLimit(.minutes(15))) struct FormsTests {
  /// The columns of the page.
  enum Column: String, CaseIterable {
    case builder = "builder"
    case awaitedBuilder = "builder, awaited"
    case builderInWrite = "builder in `write`"
    case builderInTransaction = "builder in `transaction`"
    case dql = "DQL"
    case awaitedDQL = "DQL, awaited"
    case dqlInWrite = "DQL in `write`"
    case dqlInTransaction = "DQL in `transaction`"
  }

  typealias Form = (DunlinStore) async throws -> [String]

  /// One operation, what it leaves and answers, and its forms.
  struct Operation {
    let name: String
    /// The collection afterwards, or what was read.
    let outcome: [String]
    let forms: [Column: Form]
  }

  private static let start = #"{"_id":"a","km":1,"n":1}"#
  private static let startB = #"{"_id":"b","km":2,"n":1}"#

  private func prepared() throws -> Peer {
    let peer = try Peer()
    try peer.store["c"].upsert(["_id": "a", "km": 1, "n": DunlinCounter(1)])
    try peer.store["c"].upsert(["_id": "b", "km": 2, "n": DunlinCounter(1)])
    return peer
  }

  @Test(arguments: FormsTests.operations.map(\.name))
  func `an operation does the same in each of its forms`(name: String) async throws {
    let operation = try #require(Self.operations.first { $0.name == name })
    for column in Column.allCases {
      guard let form = operation.forms[column] else { continue }
      let peer = try prepared()
      let read = try await form(peer.store)
      let left = try peer.store["c"].findAll().sort("_id").exec().map { $0.jsonString() }
      expectEqual(read.isEmpty ? left : read, operation.outcome, "\(name), \(column.rawValue)")
    }
  }

  @Test func `the page has the forms that there are`() throws {
    let page = try page("Forms.md")
    let rows = page.split(separator: "\n").filter { $0.hasPrefix("| ") }.map { row in
      row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
    }
    let header = try #require(rows.first { $0.first == "operation" })
    #expect(Array(header.dropFirst()) == Column.allCases.map(\.rawValue))
    for operation in Self.operations {
      let row = try #require(
        rows.first { $0.first == operation.name }, "\(operation.name) is not on the page")
      expectEqual(row.count, header.count)
      for (column, cell) in zip(Column.allCases, row.dropFirst()) {
        expectEqual(operation.forms[column] != nil, cell != "–", "\(operation.name), \(column.rawValue)")
      }
    }
  }

  // MARK: - The operations

  /// The four forms of a statement.
  private static func dql(
    _ query: String, _ arguments: @escaping @Sendable () -> [String: Any?] = { [:] }
  ) -> [Column: Form] {
    let rows = { @Sendable (result: DunlinQueryResult) in result.items.map { $0.jsonString() } }
    return [
      .dql: { store in rows(try store.blocking { try $0.execute(query: query, arguments: arguments()) }) },
      .awaitedDQL: { rows(try await $0.execute(query: query, arguments: arguments())) },
      .dqlInWrite: { store in
        try await store.write { rows(try $0.execute(query: query, arguments: arguments())) }
      },
      .dqlInTransaction: { store in
        try await store.transaction { rows(try await $0.execute(query: query, arguments: arguments())) }
      },
    ]
  }

  private static var upsert: Operation {
    Operation(
      name: "upsert", outcome: [#"{"_id":"a","km":5,"n":1}"#, startB],
      forms: [
        .builder: { store in
          try store.blocking { _ = try $0["c"].upsert(["_id": "a", "km": 5]) }
          return []
        },
        .awaitedBuilder: { store in
          try await store["c"].upsert(["_id": "a", "km": 5])
          return []
        },
        .builderInWrite: { store in
          try await store.write { _ = try $0["c"].upsert(["_id": "a", "km": 5]) }
          return []
        },
        .builderInTransaction: { store in
          try await store.transaction { _ = try await $0["c"].upsert(["_id": "a", "km": 5]) }
          return []
        },
      ].merging(
        dql("INSERT INTO c DOCUMENTS (:d) ON ID CONFLICT DO UPDATE", { ["d": ["_id": "a", "km": 5]] })
      ) { $1 })
  }

  private static func upsert(
    as strategy: DunlinWriteStrategy, named name: String, _ query: String, outcome: [String]
  ) -> Operation {
    let (new, old): ([String: any Sendable], [String: any Sendable]) = (
      ["_id": "z", "km": 9], ["_id": "a", "km": 9]
    )
    return Operation(
      name: name, outcome: outcome,
      forms: [
        .builder: { store in
          try store.blocking {
            for fields in [new, old] { try $0["c"].upsert(fields, writeStrategy: strategy) }
          }
          return []
        },
        .awaitedBuilder: { store in
          for fields in [new, old] { try await store["c"].upsert(fields, writeStrategy: strategy) }
          return []
        },
        .builderInWrite: { store in
          try await store.write {
            for fields in [new, old] { try $0["c"].upsert(fields, writeStrategy: strategy) }
          }
          return []
        },
        .builderInTransaction: { store in
          try await store.transaction {
            for fields in [new, old] { try await $0["c"].upsert(fields, writeStrategy: strategy) }
          }
          return []
        },
      ].merging(dql(query, { ["new": new, "old": old] })) { $1 })
  }

  private static var inserts: [Operation] {
    [
      upsert(
        as: .insertIfAbsent, named: "insert if absent",
        "INSERT INTO c DOCUMENTS (:new), (:old) ON ID CONFLICT DO NOTHING",
        outcome: [start, startB, #"{"_id":"z","km":9}"#]),
      upsert(
        as: .insertDefaultIfAbsent, named: "default data", "INSERT INTO c INITIAL DOCUMENTS (:new), (:old)",
        outcome: [start, startB, #"{"_id":"z","km":9}"#]),
      upsert(
        as: .updateDifferentValues, named: "upsert what differs",
        "INSERT INTO c DOCUMENTS (:new), (:old) ON ID CONFLICT DO UPDATE_LOCAL_DIFF",
        outcome: [#"{"_id":"a","km":9,"n":1}"#, startB, #"{"_id":"z","km":9}"#]),
    ]
  }

  private static var save: Operation {
    Operation(
      name: "save", outcome: [#"{"_id":"a","km":5}"#, startB],
      forms: [
        .builder: { store in
          try store.blocking { _ = try $0["c"].save(["_id": "a", "km": 5]) }
          return []
        },
        .awaitedBuilder: { store in
          try await store["c"].save(["_id": "a", "km": 5])
          return []
        },
        .builderInWrite: { store in
          try await store.write { _ = try $0["c"].save(["_id": "a", "km": 5]) }
          return []
        },
        .builderInTransaction: { store in
          try await store.transaction { _ = try await $0["c"].save(["_id": "a", "km": 5]) }
          return []
        },
      ])
  }

  private static var update: Operation {
    Operation(
      name: "update one", outcome: [#"{"_id":"a","km":5,"n":1}"#, startB],
      forms: [
        .builder: { store in
          try store.blocking { _ = try $0["c"].findByID("a").update { doc in try set(doc, 5) } }
          return []
        },
        .awaitedBuilder: { store in
          try await store["c"].findByID("a").update { try set($0, 5) }
          return []
        },
        .builderInWrite: { store in
          try await store.write { _ = try $0["c"].findByID("a").update { doc in try set(doc, 5) } }
          return []
        },
        .builderInTransaction: { store in
          try await store.transaction { _ = try await $0["c"].findByID("a").update { try set($0, 5) } }
          return []
        },
      ].merging(dql("UPDATE c SET km = 5 WHERE _id = 'a'")) { $1 })
  }

  private static var updateAll: Operation {
    Operation(
      name: "update what a query finds", outcome: [start, #"{"_id":"b","km":5,"n":1}"#],
      forms: [
        .builder: { store in
          try store.blocking { _ = try $0["c"].find("km > 1").update { for doc in $0 { try set(doc, 5) } } }
          return []
        },
        .awaitedBuilder: { store in
          try await store["c"].find("km > 1").update { for doc in $0 { try set(doc, 5) } }
          return []
        },
        .builderInWrite: { store in
          try await store.write {
            _ = try $0["c"].find("km > 1").update { for doc in $0 { try set(doc, 5) } }
          }
          return []
        },
        .builderInTransaction: { store in
          try await store.transaction {
            _ = try await $0["c"].find("km > 1").update { for doc in $0 { try set(doc, 5) } }
          }
          return []
        },
      ].merging(dql("UPDATE c SET km = 5 WHERE km > 1")) { $1 })
  }

  private static var increment: Operation {
    Operation(
      name: "increment a counter", outcome: [#"{"_id":"a","km":1,"n":4}"#, startB],
      forms: [
        .builder: { store in
          try store.blocking { _ = try $0["c"].findByID("a").update { doc in try count(doc) } }
          return []
        },
        .awaitedBuilder: { store in
          try await store["c"].findByID("a").update { try count($0) }
          return []
        },
        .builderInWrite: { store in
          try await store.write { _ = try $0["c"].findByID("a").update { doc in try count(doc) } }
          return []
        },
        .builderInTransaction: { store in
          try await store.transaction { _ = try await $0["c"].findByID("a").update { try count($0) } }
          return []
        },
      ].merging(dql("UPDATE c APPLY n INCREMENT BY 3 WHERE _id = 'a'")) { $1 })
  }

  private static func set(_ document: DunlinMutableDocument?, _ km: Int) throws { document?["km"].set(km) }

  private static func count(_ document: DunlinMutableDocument?) throws {
    document?["n"].counter?.increment(by: 3)
  }

  private static var remove: Operation {
    Operation(
      name: "remove", outcome: [startB],
      forms: [
        .builder: { store in
          try store.blocking { _ = try $0["c"].findByID("a").remove() }
          return []
        },
        .awaitedBuilder: { store in
          try await store["c"].find("km == 1").remove()
          return []
        },
        .builderInWrite: { store in
          try await store.write { _ = try $0["c"].find("km == 1").remove() }
          return []
        },
        .builderInTransaction: { store in
          try await store.transaction { _ = try await $0["c"].findByID("a").remove() }
          return []
        },
      ].merging(dql("DELETE FROM c WHERE km = 1")) { $1 })
  }

  private static var evict: Operation {
    Operation(
      name: "evict", outcome: [startB],
      forms: [
        .builder: { store in
          store.blocking { _ = $0["c"].findByID("a").evict() }
          return []
        },
        .awaitedBuilder: { store in
          await store["c"].find("km == 1").evict()
          return []
        },
        .builderInWrite: { store in
          _ = await store.write { $0["c"].find("km == 1").evict() }
          return []
        },
        .builderInTransaction: { store in
          try await store.transaction { _ = try await $0["c"].findByID("a").evict() }
          return []
        },
      ].merging(dql("EVICT FROM c WHERE km = 1")) { $1 })
  }

  private static var read: Operation {
    Operation(
      name: "read", outcome: [startB],
      forms: [
        .builder: { store in try store.blocking { try $0["c"].find("km > 1").exec().map { $0.jsonString() } }
        },
        .awaitedBuilder: { store in
          try await store.read { try $0["c"].find("km > 1").exec().map { $0.jsonString() } }
        },
        .builderInWrite: { store in
          try await store.write { try $0["c"].find("km > 1").exec().map { $0.jsonString() } }
        },
        .builderInTransaction: { store in
          try await store.transaction(isReadOnly: true) {
            try await $0["c"].find("km > 1").exec().map { $0.jsonString() }
          }
        },
      ].merging(dql("SELECT * FROM c WHERE km > 1")) { $1 })
  }

  struct Km: Codable, Sendable { var km: Int }

  private static var readTyped: Operation {
    Operation(
      name: "read as a type", outcome: ["2"],
      forms: [
        .builder: { store in
          try store.blocking { try $0["c"].find("km > 1").exec(as: Km.self).map { "\($0.km)" } }
        },
        .awaitedBuilder: { store in
          try await store.read { try $0["c"].find("km > 1").exec(as: Km.self).map { "\($0.km)" } }
        },
        .builderInWrite: { store in
          try await store.write { try $0["c"].find("km > 1").exec(as: Km.self).map { "\($0.km)" } }
        },
        .builderInTransaction: { store in
          try await store.transaction {
            try await $0["c"].find("km > 1").exec(as: Km.self).map { "\($0.km)" }
          }
        },
        .dql: { store in try store.blocking { try $0.execute(query: typed, as: Km.self).map { "\($0.km)" } }
        },
        .awaitedDQL: { store in try await store.execute(query: typed, as: Km.self).map { "\($0.km)" } },
        .dqlInWrite: { store in
          try await store.write { try $0.execute(query: typed, as: Km.self).map { "\($0.km)" } }
        },
        .dqlInTransaction: { store in
          try await store.transaction { try await $0.execute(query: typed, as: Km.self).map { "\($0.km)" } }
        },
      ])
  }

  private static let typed = "SELECT km FROM c WHERE km > 1"

  private static var first: Operation {
    Operation(
      name: "read the first", outcome: [startB],
      forms: [
        .builder: { store in try store.blocking { [try top($0["c"].findAll()).first()].map(text) } },
        .awaitedBuilder: { store in
          try await store.read {
            [try $0["c"].findAll().sort("km", direction: .descending).first()].map(text)
          }
        },
        .builderInWrite: { store in
          try await store.write {
            [try $0["c"].findAll().sort("km", direction: .descending).first()].map(text)
          }
        },
        .builderInTransaction: { store in
          try await store.transaction {
            [try await $0["c"].findAll().sort("km", direction: .descending).first()].map(text)
          }
        },
      ].merging(dql("SELECT * FROM c ORDER BY km DESC LIMIT 1")) { $1 })
  }

  private static func top(_ all: DunlinPendingCursorOperation) -> DunlinPendingCursorOperation {
    all.sort("km", direction: .descending)
  }

  private static func text(_ document: DunlinDocument?) -> String { document?.jsonString() ?? "none" }

  private static var count: Operation {
    Operation(
      name: "count", outcome: [#"{"n":2}"#],
      forms: [
        .builder: { store in [number(try store.blocking { try $0["c"].findAll().count() })] },
        .awaitedBuilder: { store in [number(try await store.read { try $0["c"].findAll().count() })] },
        .builderInWrite: { store in [number(try await store.write { try $0["c"].findAll().count() })] },
        .builderInTransaction: { store in
          [number(try await store.transaction { try await $0["c"].findAll().count() })]
        },
      ].merging(dql("SELECT COUNT(*) AS n FROM c")) { $1 })
  }

  private static func number(_ count: Int) -> String { "{\"n\":\(count)}" }

  static var operations: [Operation] {
    [upsert] + inserts + [save, update, updateAll, increment, remove, evict, read, readTyped, first, count]
  }
}

extension DunlinStore {
  /// Lets `body` use the forms that wait.
  func blocking<R>(_ body: (DunlinStore) throws -> R) rethrows -> R { try body(self) }
}

/// A page of the documentation.
func page(_ name: String) throws -> String {
  let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
  return try String(contentsOf: root.appendingPathComponent("Documentation/\(name)"), encoding: .utf8)
}
