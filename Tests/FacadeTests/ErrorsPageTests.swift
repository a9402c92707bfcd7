import DunlinKit
import Foundation
import TestKit
import Testing

/// The page of errors, and how errors read.
@Suite struct ErrorsPageTests {
  /// The codes as the source has them.
  private func codes() throws -> [String] {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let source = try String(
      contentsOf: root.appendingPathComponent("Modules/Facade/Errors/DunlinError.swift"), encoding: .utf8)
    return source.matches(of: /static let \w+ = Self\(rawValue: "(\w+)"\)/).map { String($0.output.1) }
  }

  @Test func `every code has a cause and a cure`() throws {
    let codes = try codes()
    #expect(codes.count > 45)
    let rows = try page("Errors.md").split(separator: "\n").filter { $0.hasPrefix("| `") }.map { row in
      row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
    }
    let described = Dictionary(rows.map { ($0[0].trimmingCharacters(in: ["`"]), $0) }) { $1 }
    for code in codes {
      let row = try #require(described[code], "\(code) is not on the page")
      expect(row.count == 3 && row[1].count > 10 && row[2].count > 10, "\(code)")
    }
    #expect(Set(described.keys) == Set(codes))
  }

  @Test func `an error is one line that names path and collection`() throws {
    let peer = try Peer()
    struct Secret {}
    let calls: [(String?, () throws -> Void)] = [
      ("list.0.deep", { try peer.store["a"].upsert(["list": [["deep": Secret()]]]) }),
      ("list.0.deep", { try peer.store["a"].save(["list": [["deep": Secret()]]]) }),
      ("n", { try peer.store["a"].findByID("d").update { doc in try change(doc) } }),
      (nil, { try peer.store["a"].find("color ==").remove() }),
      (nil, { _ = try peer.store["a"].find("a ==").exec() }),
      ("n", { try peer.store.write { tx in _ = try tx["a"].save(["_id": "d", "n": 1.5]) } }),
    ]
    try peer.store["a"].upsert(["_id": "d", "n": DunlinCounter()])
    for (path, call) in calls {
      let error = try #require(throws: DunlinError.self, performing: call)
      expect(!"\(error)".contains { $0.isNewline })
      expect("\(error)".contains("collection: a"), "\(error)")
      if let path { expect("\(error)".contains("path: \(path)"), "\(error)") }
    }
    func change(_ document: DunlinMutableDocument?) throws { document?["n"].set(2.5) }
  }

  @Test func `the error of a statement is one line, and its excerpt is in the context`() throws {
    let peer = try Peer()
    let error = try #require(throws: DunlinError.self) {
      try peer.store.blocking { _ = try $0.execute(query: "SELECT *\nFORM bikes\nWHERE a = 1") }
    }
    #expect(!"\(error)".contains { $0.isNewline })
    #expect(error.context["line"] == "2")
    #expect(error.context["excerpt"]?.contains("FORM") == true)
  }
}
