package import CRDTCore
package import DocStore

/// What one user could read and write in a store, of the documents that it was shown.
package struct RulesTrial: Sendable {
  /// A document that is not allowed, and why.
  struct Refused: Sendable {
    let id: DocumentID
    /// A line for each query of the rules, in their order; empty if they have none for the collection.
    let reasons: [String]
  }

  /// What is allowed of one collection.
  struct Side: Sendable {
    fileprivate(set) var rule: CollectionRule
    private(set) var allowed = 0
    private(set) var refusedCount = 0
    /// The first ones that are not.
    private(set) var refused: [Refused] = []

    /// How many of them are named.
    static let named = 10

    init(_ rule: CollectionRule) { self.rule = rule }

    mutating func judge(_ id: RawSpan, _ record: borrowing RecordView, _ keys: KeyTable) throws {
      guard !rule.allows(id, record) else {
        allowed += 1
        return
      }
      refusedCount += 1
      guard refused.count < Self.named else { return }
      let id = try DocumentID(validating: id)
      refused.append(Refused(id: id, reasons: rule.refusals(of: id, record, keys)))
    }
  }

  /// One collection.
  struct Row: Sendable {
    let name: String
    fileprivate(set) var keys: KeyTable
    var documents = 0
    var read: Side
    var write: Side
  }

  private var rows: [Row] = []
  private let rules: CompiledRules

  /// Begins without documents.
  ///
  /// - Parameter rules: The rules, for one user.
  package init(_ rules: CompiledRules) { self.rules = rules }
}

extension RulesTrial: RulesJudge {
  package mutating func begin(_ collection: DocStore.Collection) {
    rows.append(
      Row(
        name: collection.name, keys: collection.keys, read: Side(rules.read.rule(for: collection)),
        write: Side(rules.write.rule(for: collection))))
  }

  package mutating func resume(_ collection: DocStore.Collection) {
    let last = rows.count - 1
    rows[last].keys = collection.keys
    rows[last].read.rule = rules.read.rule(for: collection)
    rows[last].write.rule = rules.write.rule(for: collection)
  }

  package mutating func judge(_ id: RawSpan, _ record: borrowing RecordView) throws {
    let last = rows.count - 1
    rows[last].documents += 1
    let keys = rows[last].keys
    try rows[last].read.judge(id, record, keys)
    try rows[last].write.judge(id, record, keys)
  }
}

extension RulesTrial {
  /// What was found, by collection, as commands print it for programs and as the big peer answers it.
  package var values: Value {
    .array(
      rows.map { row in
        .map([
          "collection": .string(row.name), "documents": .count(row.documents),
          "readable": .count(row.read.allowed), "writable": .count(row.write.allowed),
          "unreadable": Self.values(row.read), "unwritable": Self.values(row.write),
        ])
      })
  }

  private static func values(_ side: Side) -> Value {
    .array(
      side.refused.map { refused in
        .map(["_id": refused.id.value, "reasons": .array(refused.reasons.map { .string($0) })])
      })
  }
}
