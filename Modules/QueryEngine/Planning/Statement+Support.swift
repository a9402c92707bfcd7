extension Select {
  /// Whether its rows are anything other than the documents of one collection, or their number.
  var isStaged: Bool {
    if !joins.isEmpty { return true }
    if case .countAll = projection, groups.isEmpty, having == nil { return false }
    return isGrouped
  }

  /// The first part of the query that cannot be planned; `nil` when there is none.
  var unsupportedFeature: String? {
    if !joins.isEmpty { return "JOIN" }
    if !groups.isEmpty { return "GROUP BY" }
    return having != nil ? "HAVING" : nil
  }
}

extension Statement {
  /// The keywords with which the statement begins.
  package var verb: String {
    switch self {
    case .select: "SELECT"
    case .compound: "combining queries"
    case .insert: "INSERT"
    case .update: "UPDATE"
    case .delete: "DELETE"
    case .evict: "EVICT"
    case .createIndex: "CREATE INDEX"
    case .dropIndex: "DROP INDEX"
    case .alterSystem: "ALTER SYSTEM"
    case .show: "SHOW"
    case .explain: "EXPLAIN"
    case .profile: "PROFILE"
    case .advise(_, let provisioning): provisioning ? "ADVISE AND PROVISION" : "ADVISE"
    }
  }
}
