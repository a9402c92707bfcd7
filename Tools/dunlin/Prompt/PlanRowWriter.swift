import CRDTCore
import QueryEngine

/// Writes the answers of EXPLAIN, ADVISE, PROFILE and SHOW as text of as many lines as they need.
///
/// The rows of a profiled statement are a table.
struct PlanRowWriter: RowWriter {
  /// The column that PROFILE adds behind the statement's own rows.
  private static let profile: TextKey = "~request_profile"

  private let write: ([UInt8]) throws -> Void
  /// The rows of the statement that PROFILE runs.
  private var rows: TableRowWriter?

  /// Fails for a statement whose rows are documents.
  ///
  /// - Parameters:
  ///   - statement: The statement that answers.
  ///   - terminalWidth: The columns of the terminal.
  ///   - write: Takes what is to be written.
  init?(_ statement: Statement, terminalWidth: Int, to write: @escaping ([UInt8]) throws -> Void) {
    self.write = write
    switch statement {
    case .explain, .advise, .show, .alterSystem: break
    case .profile: rows = TableRowWriter(nil, terminalWidth: terminalWidth, to: write)
    case .select, .compound, .insert, .update, .delete, .evict, .createIndex, .dropIndex: return nil
    }
  }

  mutating func add(_ values: [TextKey: Value]) throws {
    guard rows != nil else { return try print(PlanText.lines(of: values)) }
    if case .map(let profile)? = values[Self.profile] {
      try finish()
      try print(PlanText.lines(of: profile))
    } else {
      try rows?.add(values)
    }
  }

  mutating func finish() throws {
    try rows?.finish()
    rows = nil
  }

  private func print(_ lines: [String]) throws {
    try write(Array((lines.joined(separator: "\n") + "\n").utf8))
  }
}
