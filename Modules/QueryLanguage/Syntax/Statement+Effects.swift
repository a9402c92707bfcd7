package import CRDTCore

extension Statement {
  /// Whether it is a query or EXPLAIN, which changes nothing.
  package var isQuery: Bool {
    switch self {
    case .select, .compound: true
    case .explain(let explained): explained.isQuery
    case .insert, .update, .delete, .evict, .createIndex, .dropIndex, .alterSystem, .show, .profile, .advise:
      false
    }
  }

  /// Whether it may run in a read-only transaction: it changes no documents, indexes or parameters.
  package var isReadOnly: Bool {
    switch self {
    case .select, .compound, .explain, .show, .advise(_, provisioning: false): true
    case .profile(let profiled): profiled.isReadOnly
    case .insert, .update, .delete, .evict, .createIndex, .dropIndex, .alterSystem, .advise: false
    }
  }

  /// The collections that a query reads, also in inner queries.
  package var collectionsRead: Set<TextKey> {
    if case .explain(let explained) = self { return explained.collectionsRead }
    return Set(selects.flatMap { [$0.source.$collection] + $0.joins.map(\.source.$collection) })
  }
}
