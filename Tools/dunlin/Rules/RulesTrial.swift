import CRDTCore
import DocStore
import ScopePolicy

/// What one user could read and write in a store.
struct RulesTrial {
  /// A document that is not allowed, and why.
  struct Refused {
    let id: DocumentID
    /// A line for each query of the rules, in their order; empty if they have none for the collection.
    let reasons: [String]
  }

  /// What is allowed of one collection.
  struct Side {
    private let rule: CollectionRule
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
  struct Row {
    let name: String
    let keys: KeyTable
    var documents = 0
    var read: Side
    var write: Side
  }

  private(set) var rows: [Row] = []

  /// Judges all documents.
  init(_ rules: CompiledRules, _ store: Store, _ scan: DocumentScan) throws {
    var rows: [Row] = []
    try scan.run(store) { collection in
      rows.append(
        Row(
          name: collection.name, keys: collection.keys, read: Side(rules.read.rule(for: collection)),
          write: Side(rules.write.rule(for: collection))))
    } visit: { id, record in
      let last = rows.count - 1
      rows[last].documents += 1
      let keys = rows[last].keys
      try rows[last].read.judge(id, record, keys)
      try rows[last].write.judge(id, record, keys)
    }
    self.rows = rows
  }
}

extension RulesTrial {
  /// What the command prints for programs.
  var values: Value {
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

  /// What the command prints for people: a table, then the documents that are not allowed.
  var text: String {
    var table = TextTable(["collection", "documents", "read", "write"], rightAligned: [1, 2, 3])
    var lines: [String] = []
    for row in rows {
      table.add([
        row.name.printable, row.documents.groupedDigits, row.read.allowed.groupedDigits,
        row.write.allowed.groupedDigits,
      ])
      lines += Self.lines(row.read, "read", row.name) + Self.lines(row.write, "write", row.name)
    }
    return ([table.text] + lines).joined(separator: "\n")
  }

  private static func lines(_ side: Side, _ verb: String, _ name: String) -> [String] {
    guard side.refusedCount > 0 else { return [] }
    var lines = ["", "cannot \(verb) \(side.refusedCount.counting("document")) of \(name.printable):"]
    for refused in side.refused {
      let reasons =
        refused.reasons.count > 1
        ? refused.reasons.enumerated().map { "[\($0)] \($1)" }.joined(separator: "; ")
        : refused.reasons.first ?? "the rules have no query for the collection"
      lines.append("  \(JSON.text(of: refused.id.value).printable)  \(reasons.printable)")
    }
    let more = side.refusedCount - side.refused.count
    if more > 0 { lines.append("  and \(more.groupedDigits) more") }
    return lines
  }
}
