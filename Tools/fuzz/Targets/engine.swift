import CRDTCore
import DocStore
import Glibc
import QueryEngine

/// Any text as a statement on a small store with indexes: it is answered or refused within its bounds.
///
/// The result is the same with and without the indexes. What the statement writes is rolled back, so that
/// every input meets the same store.
enum Target {
  private struct RolledBack: Error {}

  private static let environment = EngineEnvironment(
    now: nanoseconds, wallClock: { 1_700_000_000_000 }, zoneOffset: { _, _ in 3_600 })

  private static let engine: Engine = {
    let directory = getenv("FUZZ_DIRECTORY").map { String(cString: $0) } ?? "/tmp"
    let options = StoreOptions(mapBytes: 64 << 20, now: { 1_700_000_000_000 }, log: { _, _ in })
    do {
      let store = try Store.open(at: "\(directory)/engine-\(getpid())", options: options)
      let engine = Engine(store: store, parameters: SystemParameters(), environment: environment)
      for case .map(let fixture) in lines("fixtures") {
        guard case .string(let name)? = fixture["collection"],
          case .array(let documents)? = fixture["documents"]
        else { continue }
        _ = try store.write { transaction in
          for case .map(let document) in documents { try transaction.upsert(document, into: name) }
        }
      }
      for index in [
        "by_color ON cars (color, year DESC)", "by_year ON cars (year)", "by_trim ON cars (features.trim)",
        "by_tags ON cars (tags)", "by_v ON mixed (v)", "by_customer ON orders (customerId)",
      ] {
        _ = try engine.execute(try DQL.parse("CREATE INDEX \(index)"))
      }
      return engine
    } catch {
      preconditionFailure("no store: \(error)")
    }
  }()

  private static let arguments: [TextKey: Value] = [
    "a": .int(1), "b": .string("blue"), "c": .null, "d": .map(["_id": .string("new"), "n": .int(1)]),
    "id": .string("c1"), "ids": .array([.string("c1"), .string("c3")]),
    "l": .array([.int(2018), .string("u1")]),
    "n": .int(2), "p": .string("a%"), "x": .double(1.5),
  ]

  /// The statements of the query cases.
  static let seeds: [[UInt8]] =
    (lines("cases")
    + lines("cases-own").enumerated().filter { $0.offset % 4 == 0 }
    .map(\.element)).flatMap(statements)

  static func run(_ input: [UInt8]) {
    guard let statement = try? DQL.parse(String(decoding: input, as: UTF8.self)) else { return }
    defer { try? engine.parameters.resetAll() }
    switch statement {
    case .createIndex, .dropIndex, .advise(_, provisioning: true): return
    default: break
    }
    guard let answer = execute(statement), let other = statement.withoutIndexes else { return }
    guard let expected = execute(other) else { return }
    precondition(SortOrder.compare(answer, expected) == 0, "the indexes change the answer")
  }

  /// What a statement answers, in one order; `nil` for one that fails.
  private static func execute(_ statement: Statement) -> Value? {
    let start = nanoseconds()
    defer { precondition(nanoseconds() - start < 5_000_000_000, "a statement outlives its bounds") }
    var answer: Value?
    let context = StatementContext(environment, timeout: .seconds(1), steps: 1 << 16, memoryBytes: 32 << 20)
    do {
      _ = try engine.store.write { transaction in
        let result = try engine.execute(
          statement, arguments: arguments, in: transaction, context: context)
        let rows = try result.rows.map { Value.map(try $0.values()) }
        let ids = result.mutatedDocumentIDs.map(\.value)
        answer = .array([sorted(rows), sorted(ids)])
        throw RolledBack()
      }
    } catch let error as QueryError {
      _ = error.description
    } catch {}
    return answer
  }

  private static func sorted(_ values: [Value]) -> Value {
    .array(values.sorted { SortOrder.compare($0, $1) < 0 })
  }

  private static let nanoseconds: @Sendable () -> UInt64 = {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  // MARK: Cases

  private static func statements(_ one: Value) -> [[UInt8]] {
    guard case .map(let members) = one else { return [] }
    if case .array(let steps)? = members["steps"] { return steps.flatMap(statements) }
    guard case .string(let text)? = members["stmt"] else { return [] }
    return [Array(text.utf8)]
  }

  private static func lines(_ name: String) -> [Value] {
    guard let file = fopen("Tests/QueryEngineTests/Cases/\(name).jsonl", "r") else {
      preconditionFailure("no cases: the fuzzer runs in the root of the package")
    }
    defer { fclose(file) }
    var text: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = fread(&chunk, 1, chunk.count, file), count > 0 { text += chunk.prefix(count) }
    return text.split(separator: UInt8(ascii: "\n")).compactMap {
      try? JSON.parse(String(decoding: $0, as: UTF8.self))
    }
  }
}

extension Statement {
  /// The statement without its indexes, where it must answer the same: `nil` where bounds or chance decide.
  fileprivate var withoutIndexes: Statement? {
    switch self {
    case .select(var select):
      guard select.limit == nil, select.offset == nil else { return nil }
      select.source.hints.indexes = []
      for index in select.joins.indices { select.joins[index].source.hints.indexes = [] }
      return .select(select)
    case .update(var update):
      update.target.hints.indexes = []
      return .update(update)
    case .delete(var removal), .evict(var removal):
      guard removal.limit == nil, removal.offset == nil else { return nil }
      removal.target.hints.indexes = []
      return .delete(removal)
    default: return nil
    }
  }
}
