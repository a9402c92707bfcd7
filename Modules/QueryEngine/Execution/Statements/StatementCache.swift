import CRDTCore
import Synchronization

/// The most recently used statements, parsed and planned, for callers that execute the same text again.
final class StatementCache: Sendable {
  private static let statements = 256
  private static let textBytes = 128 << 10
  private let recent = Mutex(
    RecentTexts<PreparedStatement>(capacity: statements, capacityBytes: textBytes))

  private let parsed = Atomic<Int64>(0)
  private let shared = Atomic<Int64>(0)

  /// The number of statements that were parsed, and of those that were found here.
  var totals: (parsed: Int64, shared: Int64) {
    (parsed.load(ordering: .relaxed), shared.load(ordering: .relaxed))
  }

  /// The statement of a text.
  ///
  /// - Throws: What parsing throws; texts that cannot be parsed are not kept.
  func statement(_ text: String) throws(QueryError) -> PreparedStatement {
    if let known = recent.withLock({ $0.use(text) }) {
      shared.add(1, ordering: .relaxed)
      return known
    }
    parsed.add(1, ordering: .relaxed)
    let made = try PreparedStatement(text)
    recent.withLock { $0.keep(made, of: text) }
    return made
  }

  /// The statements as `system:shared_statements` shows them, last used first; literals are left out.
  var documents: [[TextKey: Value]] {
    recent.withLock { $0.all }.enumerated().map { place, prepared in
      [
        "_id": .int(Int64(place)), "statement": .string(prepared.statement.redacted),
        "uses": .int(Int64(prepared.uses.load(ordering: .relaxed))),
        "plans": .int(Int64(prepared.planCount)),
      ]
    }
  }
}
