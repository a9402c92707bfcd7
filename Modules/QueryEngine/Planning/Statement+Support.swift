extension Select {
  /// The first part of the query that cannot be planned; `nil` when there is none.
  var unsupportedFeature: String? {
    if !joins.isEmpty { return "JOIN" }
    if !groups.isEmpty { return "GROUP BY" }
    if having != nil { return "HAVING" }
    return source.unsupportedFeature
  }
}

extension Insert {
  /// The first part of the statement that cannot be executed; `nil` when there is none.
  var unsupportedFeature: String? { target.unsupportedFeature }
}

extension Update {
  /// The first part of the statement that cannot be executed; `nil` when there is none.
  var unsupportedFeature: String? { target.unsupportedFeature }
}

extension Removal {
  /// The first part of the statement that cannot be executed; `nil` when there is none.
  var unsupportedFeature: String? { target.unsupportedFeature }
}

extension Source {
  /// Declared types, which decide how writes merge.
  fileprivate var unsupportedFeature: String? { types.isEmpty ? nil : "declaring the types of fields" }
}

extension Statement {
  /// The words that the statement begins with.
  var verb: String {
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
    case .advise: "ADVISE"
    }
  }
}
