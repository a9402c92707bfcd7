import CRDTCore

/// The virtual collections: read-only, local, computed when they are read.
package enum SystemCollection: String, Hashable, Sendable, CaseIterable {
  /// One empty document, to evaluate expressions.
  case dual
  /// The collections, with the number of their documents.
  case collections
  /// The documents above the hard limit, which are not sent to peers that have nothing of them.
  case oversizeDocuments = "oversize_documents"
  /// The documents above the soft limit, found by looking at the sizes of all.
  case largeDocuments = "large_documents"
  /// The running software: versions, sites, figures and system parameters.
  case systemInfo = "system_info"
  /// The indexes of all collections.
  case indexes

  /// The statements that run now.
  case activeRequests = "active_requests"
  /// The last statements that have run.
  case requestHistory = "request_history"
  /// The connections to peers, and the progress of each.
  case dataSyncInfo = "data_sync_info"
  /// Counts since the store was opened, one document for each figure.
  case metrics
  /// The state of the store and of the engine, in one document.
  case vitals
  /// The statements that are kept parsed and planned.
  case sharedStatements = "shared_statements"

  static let prefix = "system:"

  /// Further names from other releases of the reference product.
  private static let aliases: [TextKey: SystemCollection] = [
    "system:all_collections": .collections, "__collections": .collections, "system:dql_indexes": .indexes,
    "dql_indexes": .indexes, "system:actives": .activeRequests,
  ]

  /// The virtual collection of that name; `nil` for names of ordinary collections.
  ///
  /// - Throws: `unsupported` for an unknown name in the virtual namespace.
  package static func named(_ name: String) throws(QueryError) -> SystemCollection? {
    if let alias = aliases[name] { return alias }
    guard name.utf8.starts(with: prefix.utf8) else { return nil }
    guard let known = SystemCollection(rawValue: String(name.dropFirst(prefix.count))) else {
      throw QueryError(
        .unsupported,
        "there is no virtual collection '\(name)'"
          + NameDistance.hint(for: name, among: allCases.map { prefix + $0.rawValue }), found: name,
        expected: allCases.map { prefix + $0.rawValue })
    }
    return known
  }
}
