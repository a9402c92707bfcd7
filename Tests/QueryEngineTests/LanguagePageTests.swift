import CRDTCore
import DocStore
import Foundation
import QueryEngine
import TestKit
import Testing

/// Runs the examples of the page on the query language.
@Suite struct LanguagePageTests {
  private struct Example {
    var statement: String
    var rows: [Value] = []
    /// Part of the message, where the statement fails.
    var failure: String?
  }

  private static func examples() throws -> [Example] {
    let page = URL(filePath: #filePath).resolvingSymlinksInPath()
      .appending(path: "../../../Documentation/QueryLanguage.md").standardized
    var examples: [Example] = []
    var statement = ""
    var isExample = false
    for line in try String(contentsOf: page, encoding: .utf8).split(separator: "\n") {
      if line.hasPrefix("```") {
        isExample = line == "```dql"
      } else if isExample, line.hasPrefix("-- => ") {
        let last = try #require(examples.indices.last)
        examples[last].rows.append(try JSON.parse(String(line.dropFirst(6))))
      } else if isExample, line.hasPrefix("-- ! ") {
        let last = try #require(examples.indices.last)
        examples[last].failure = String(line.dropFirst(5))
      } else if isExample {
        statement += line + "\n"
        if line.hasSuffix(";") {
          examples.append(Example(statement: statement))
          statement = ""
        }
      }
    }
    return examples
  }

  @Test func `every example answers what the page says`() throws {
    let examples = try Self.examples()
    #expect(examples.count > 15)
    try TemporaryDirectory.with { directory in
      let peer = try CasePeer(directory.file("store"))
      defer { peer.store.close() }
      for collection in ["cars", "customers", "orders"] { try peer.load(collection) }
      for example in examples {
        do {
          let rows = try peer.engine.execute(example.statement).rows.map { Value.map(try $0.values()) }
          #expect(example.failure == nil, "\(example.statement)")
          expectRows(rows, example.rows, ordered: false, example.statement)
        } catch let error as QueryError {
          #expect(error.message.contains(example.failure ?? "no error"), "\(example.statement): \(error)")
        }
      }
    }
  }
}
