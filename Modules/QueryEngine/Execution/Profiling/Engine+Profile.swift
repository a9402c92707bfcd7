import CRDTCore
import DocStore

/// PROFILE: runs the statement, and reports what each operator did.
extension Engine {
  /// The column of the profile, in the row after the statement's own rows.
  private static let column = "~request_profile"

  /// Runs `body`, which executes a statement, with operators that count and measure their times.
  func profiling(
    _ statement: Statement, _ context: StatementContext, _ body: () throws -> QueryResult
  ) throws -> QueryResult {
    switch statement {
    case .select, .compound, .insert, .update, .delete, .evict: break
    case .createIndex, .dropIndex, .alterSystem, .show, .explain, .profile, .advise:
      throw QueryError(.unsupported, "PROFILE takes a statement on documents")
    }
    let profile = StatementProfile(environment.now)
    context.startProfile(profile)
    let start = environment.now()
    let result = try body()
    let elapsed = environment.now()
    var row: [TextKey: Value] = [
      "elapsed_ns": .int(Int64(clamping: elapsed - min(start, elapsed))),
      "plan": .array(profile.sections.flatMap(\.steps)), "rows": .int(Int64(result.rows.count)),
    ]
    if statement.writes { row["mutated"] = .int(Int64(result.mutatedDocumentIDs.count)) }
    return QueryResult(
      rows: result.rows + [Row([TextKey(Self.column): .map(row)])],
      mutatedDocumentIDs: result.mutatedDocumentIDs)
  }
}

extension StatementProfile.Section {
  /// The operators as EXPLAIN shows them, each with its number of `rows`, and its `ns` if measured.
  ///
  /// The time of an operator that is not measured is part of the operator that ends the query.
  var steps: [Value] {
    let nodes = root.inOrder
    var source = 0
    var measured: UInt64 = 0
    return nodes.enumerated().map { place, node in
      var step = node.details
      var rows: Int?
      var spent: UInt64?
      switch node {
      case .scan, .fetch:
        rows = scans[source]?.found
        if case .scan = node { spent = scans[source]?.scanNanoseconds }
      case .countScan: rows = 1
      case .filter:
        if place > 0, nodes[place - 1].isScan, let scan = scans[0] {
          (rows, spent) = (scan.accepted, scan.filterNanoseconds)
        } else {
          rows = nodes[..<place].contains(where: \.isGroup) ? groups?.kept : frames
        }
      case .join:
        source += 1
        rows = scans[source]?.joined
        spent = scans[source].map { $0.scanNanoseconds + $0.filterNanoseconds }
      case .group: rows = groups?.all ?? 1
      case .distinct, .limit, .project, .mutate, .combine: rows = place == nodes.count - 1 ? self.rows : nil
      case .sort: break
      }
      measured += spent ?? 0
      if place == nodes.count - 1 { spent = nanoseconds - min(nanoseconds, measured) }
      step["operator"] = .string(node.name)
      step["rows"] = rows.map { .int(Int64($0)) }
      step["ns"] = spent.map { .int(Int64(clamping: $0)) }
      return .map(step)
    }
  }
}

extension PlanNode {
  fileprivate var isScan: Bool {
    switch self {
    case .scan, .fetch: true
    default: false
    }
  }

  fileprivate var isGroup: Bool { if case .group = self { true } else { false } }
}
