import CRDTCore
import DocStore

/// The virtual collections: read-only, local, made up as they are read.
package enum SystemCollection: String, Hashable, Sendable, CaseIterable {
  /// One empty document, to evaluate expressions.
  case dual
  /// The collections, with the number of their documents.
  case collections
  /// The documents above the hard limit, which are never sent.
  case oversizeDocuments = "oversize_documents"
  /// What runs here: versions, sites, figures and system parameters.
  case systemInfo = "system_info"
  /// The indexes of all collections.
  case indexes

  /// The statements that run now.
  case activeRequests = "active_requests"
  /// The last statements that have run.
  case requestHistory = "request_history"
  /// The connections to peers, and how far each has come.
  case dataSyncInfo = "data_sync_info"
  /// What was counted since the store was opened, one document for each figure.
  case metrics
  /// How the store and the engine stand, in one document.
  case vitals
  /// The statements that are kept parsed and planned.
  case sharedStatements = "shared_statements"

  static let prefix = "system:"

  /// Further names, as other releases of the reference product have them.
  private static let aliases: [TextKey: SystemCollection] = [
    "system:all_collections": .collections, "__collections": .collections, "system:dql_indexes": .indexes,
    "dql_indexes": .indexes, "system:actives": .activeRequests,
  ]

  /// The virtual collection of that name; `nil` for names of ordinary ones.
  ///
  /// - Throws: `unsupported` for an unknown name in the virtual namespace.
  package static func named(_ name: String) throws(QueryError) -> SystemCollection? {
    if let alias = aliases[name] { return alias }
    guard name.hasPrefix(prefix) else { return nil }
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

/// What the virtual collections show beside the store's own content.
///
/// It is looked up when it is read, so that other statements pay nothing for it.
struct SystemFacts {
  private let engine: Engine

  init(_ engine: Engine) { self.engine = engine }

  var site: SiteID { engine.store.site }
  /// The system parameters that are not at their defaults.
  var changedParameters: [TextKey: Value] { engine.parameters.changedValues }
  /// The statements that run and have run.
  var requests: RequestLog { engine.requests }
  /// What layers above tell.
  var providers: SystemProviders { engine.providers }
  var environment: EngineEnvironment { engine.environment }

  func statistics() throws -> StoreStatistics { try engine.store.statistics() }

  /// The statements that are kept parsed.
  var statements: StatementCache { engine.statements }
}
