import CRDTCore
import DocStore
import DunlinControl
import Facade
import Foundation
import QueryEngine
import Synchronization

/// Runs statements in a store that this process has open.
final class OwnStatements: StatementSource {
  private let engine: Engine
  private let bar: IndexProgressBar
  private let cancelling = Mutex<(@Sendable () -> Void)?>(nil)

  init(_ store: Store) {
    let bar = IndexProgressBar()
    self.bar = bar
    engine = Engine(
      store: store, parameters: SystemParameters(),
      environment: EngineEnvironment(
        now: { DispatchTime.now().uptimeNanoseconds },
        wallClock: { Int64(clamping: StoreOptions.systemMilliseconds()) },
        zoneOffset: { zone, milliseconds in
          TimeZone(identifier: zone)?
            .secondsFromGMT(for: Date(timeIntervalSince1970: Double(milliseconds) / 1_000))
        }, indexProgress: { bar.update($0.indexed, of: $0.total) }, log: { Output.note($0) },
        // Each result brings its own.
        hint: { _ in }))
  }

  func cancel() { cancelling.withLock { $0 }?() }

  func run(
    _ text: String, _ arguments: [TextKey: Value], _ take: (StatementEvent) throws -> Void
  ) throws -> StatementOutcome {
    let context = engine.makeContext()
    return try cancelled(by: { context.cancel() }) {
      let prepared = try engine.prepare(text)
      var outcome = StatementOutcome()
      if prepared.statement.isQuery {
        try take(.columns(prepared.statement.columnNames))
        try engine.forEachRow(of: prepared, arguments: arguments, context: context) { row, _ in
          try take(.row(try row.values()))
          outcome.rows += 1
          return true
        }
      } else {
        defer { bar.finish() }
        let result = try engine.execute(prepared, arguments: arguments, context: context)
        for row in result.rows { try take(.row(try row.values())) }
        (outcome.rows, outcome.changed) = (result.rows.count, result.mutatedDocumentIDs.count)
      }
      outcome.hints = context.hints
      return outcome
    }
  }

  func watch(
    _ text: String, _ arguments: [TextKey: Value], limit: Int, _ take: (StatementEvent) throws -> Void
  ) throws {
    let prepared = try engine.prepare(text)
    guard prepared.statement.isQuery else {
      throw QueryError(.unsupported, "only SELECT can be observed")
    }
    let course = WatchCourse()
    let listener = engine.store.onCommit { _ in course.wake.signal() }
    defer { listener.cancel() }
    try cancelled(by: { course.end() }) {
      while !course.isOver {
        try take(.columns(prepared.statement.columnNames))
        var count = 0
        try engine.forEachRow(of: prepared, arguments: arguments, context: course.beginRun(engine)) {
          row, _ in
          if count < limit { try take(.row(try row.values())) }
          count += 1
          return true
        }
        try take(.state(rows: count))
        course.wake.wait()
        // Commits since then are in the next result together.
        while course.wake.wait(timeout: .now()) == .success {}
      }
    }
  }

  private func cancelled<R>(by body: @escaping @Sendable () -> Void, _ run: () throws -> R) rethrows -> R {
    cancelling.withLock { $0 = body }
    defer { cancelling.withLock { $0 = nil } }
    return try run()
  }

  func collections() throws -> [TextKey: Value] { try StoreReport.collections(of: engine.store) }

  func schema(of collection: String?, documents: Int) throws -> [TextKey: Value] {
    try StoreReport.schema(of: engine.store, collection, documents: documents)
  }
}

/// A query that is run again and again.
private final class WatchCourse: Sendable {
  let wake = DispatchSemaphore(value: 0)
  private let isEnded = Atomic(false)
  private let context = Mutex<StatementContext?>(nil)

  var isOver: Bool { isEnded.load(ordering: .relaxed) }

  func beginRun(_ engine: Engine) -> StatementContext {
    let context = engine.makeContext()
    self.context.withLock { $0 = context }
    return context
  }

  func end() {
    isEnded.store(true, ordering: .relaxed)
    context.withLock { $0 }?.cancel()
    wake.signal()
  }
}

/// Shows how far CREATE INDEX has come.
final class IndexProgressBar: Sendable {
  private let bar = Mutex<Progress?>(nil)

  func update(_ done: Int, of total: Int) {
    bar.withLock { bar in
      if bar == nil { bar = Progress("index", total: total) }
      bar?.update(done)
    }
  }

  func finish() {
    bar.withLock { bar in
      _ = bar?.finish(0)
      bar = nil
    }
  }
}
