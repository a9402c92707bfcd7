import CRDTCore
import Foundation
import QueryEngine
import TestKit
import Testing

/// The query cases that evaluate one row of constants.
@Suite struct EvaluatorCasesTests {
  struct Case: CustomTestStringConvertible, Sendable {
    let id: String
    let statement: String
    /// The row to get; `nil` when the statement must fail.
    let row: [TextKey: Value]?

    var testDescription: String { id }
  }

  /// Left out on purpose, each with the reason.
  private static let skipped: [String: String] = [
    "B114": "keys of object literals must be quoted here"
  ]

  private static func load() throws -> [Case] {
    let url = try #require(
      Bundle.module.url(forResource: "cases", withExtension: "jsonl", subdirectory: "Cases"))
    var cases: [Case] = []
    for line in try String(contentsOf: url, encoding: .utf8).split(separator: "\n") {
      guard case .map(let members) = try JSON.parse(String(line)), case .string(let id) = members["id"],
        case .string(let statement) = members["stmt"], members["api"] == nil, members["fixtures"] == nil,
        statement.contains("system:dual"), case .map(let expect) = members["expect"], skipped[id] == nil
      else { continue }
      if case .array(let rows) = expect["rows"], case .map(let row) = rows.first {
        cases.append(Case(id: id, statement: statement, row: row))
      } else if expect["error"] != nil {
        cases.append(Case(id: id, statement: statement, row: nil))
      }
    }
    return cases
  }

  @Test func `every case over one row of constants comes out as written`() throws {
    let cases = try Self.load()
    #expect(cases.count >= 25)
    for one in cases {
      guard let expected = one.row else {
        #expect(throws: QueryError.self, "\(one.id)") { try DQL.parse(one.statement) }
        continue
      }
      guard case .select(let select) = try DQL.parse(one.statement),
        case .columns(let columns) = select.projection
      else {
        Issue.record("\(one.id) has no columns")
        continue
      }
      for column in columns {
        let value = try Evaluator.evaluate(constant: column.expression)
        expectEqual(SortOrder.compare(value, expected[column.name]), 0, "\(one.id): \(one.statement)")
      }
      expect(columns.contains { expected[$0.name] != nil } || expected.isEmpty, "\(one.id)")
    }
  }
}
