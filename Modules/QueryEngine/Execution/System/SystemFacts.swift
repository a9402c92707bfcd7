import CRDTCore
import DocStore

/// The sources of the virtual collections, apart from the store's own content.
///
/// They are evaluated only when they are read, so that other statements have no cost.
struct SystemFacts {
  private let engine: Engine

  init(_ engine: Engine) { self.engine = engine }

  var site: SiteID { engine.store.site }
  /// The system parameters that are not at their defaults.
  var changedParameters: [TextKey: Value] { engine.parameters.changedValues }
  /// The statements that are running and that have ended.
  var requests: RequestLog { engine.requests }
  /// What layers above report.
  var providers: SystemProviders { engine.providers }
  var environment: EngineEnvironment { engine.environment }

  /// The sizes above which a document causes a warning, and is not sent.
  var sizeLimits: (soft: Int, hard: Int) {
    (engine.store.softDocumentBytes, engine.store.hardDocumentBytes)
  }

  func statistics() throws -> StoreStatistics { try engine.store.statistics() }

  /// The statements that are kept parsed.
  var statements: StatementCache { engine.statements }
}
