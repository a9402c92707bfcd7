import CRDTCore
import DocStore

/// A run of another peer's query on the engine's store.
struct EngineRun: RemoteQueryRun {
  private let engine: Engine
  private let context: StatementContext

  init(_ engine: Engine, _ context: StatementContext) {
    self.engine = engine
    self.context = context
  }

  func cancel() { context.cancel() }

  func forEachRow(
    of statement: Statement, arguments: [TextKey: Value],
    _ body: (DocumentID?, [TextKey: Value]) throws -> Bool
  ) throws {
    try engine.store.read { transaction in
      try engine.forEachRow(of: statement, arguments: arguments, in: transaction, context: context) { row in
        try body(row.id, row.values())
      }
    }
  }
}
