import CRDTCore
import DocStore
import Foundation
import QueryEngine
import TestKit
import Testing

/// One line of a file of cases.
struct QueryCase: Sendable, CustomTestStringConvertible {
  let id: String
  let members: [TextKey: Value]

  var testDescription: String { id }

  /// Whether it evaluates an expression and reads no documents.
  var isExpression: Bool {
    if case .string(let text) = members["stmt"] { text.hasSuffix("FROM system:dual") } else { false }
  }

  private var steps: [[TextKey: Value]] {
    guard case .array(let steps) = members["steps"] else { return [members] }
    return steps.compactMap { if case .map(let step) = $0 { step } else { nil } }
  }

  func strings(_ name: String) -> [String] {
    guard case .array(let elements) = members[name] else { return [] }
    return elements.compactMap { if case .string(let text) = $0 { text } else { nil } }
  }

  static func all(_ file: String) throws -> [QueryCase] {
    try lines(file).map { members in
      guard case .string(let id) = members["id"] else { throw CocoaError(.fileReadCorruptFile) }
      return QueryCase(id: id, members: members)
    }
  }

  static func lines(_ file: String) throws -> [[TextKey: Value]] {
    let url = try #require(
      Bundle.module.url(forResource: file, withExtension: "jsonl", subdirectory: "Cases"))
    return try String(contentsOf: url, encoding: .utf8).split(separator: "\n").compactMap { line in
      if case .map(let members) = try JSON.parse(String(line)) { members } else { nil }
    }
  }

  /// Runs the case on stores of its own.
  func run() throws {
    try TemporaryDirectory.with { directory in
      if members["A"] != nil { return try runMerge(in: directory) }
      let peer = try CasePeer(directory.file("store"))
      defer { peer.store.close() }
      for collection in strings("fixtures") { try peer.load(collection) }
      for step in steps { try peer.run(step, of: self) }
    }
  }

  /// Both peers hold `start`, run their statements apart in the order named, then exchange everything.
  private func runMerge(in directory: TemporaryDirectory) throws {
    let a = try CasePeer(directory.file("a"), site: 1)
    let b = try CasePeer(directory.file("b"), site: 2)
    defer {
      a.store.close()
      b.store.close()
    }
    if case .map(let start) = members["start"] {
      let document = start.mapValues(Self.started)
      _ = try a.store.write { try $0.upsert(document, into: "t") }
      try b.receive(from: a)
    }
    let turns = members["order"] == .string("B then A") ? [(b, "B"), (a, "A")] : [(a, "A"), (b, "B")]
    for (peer, name) in turns {
      for statement in strings(name) { _ = try peer.engine.execute(statement) }
    }
    try a.receive(from: b)
    try b.receive(from: a)
    try a.receive(from: b)
    let expected: [Value] = members["converged"].map { $0 == .null ? [] : [$0] } ?? []
    for peer in [a, b] { expectRows(try peer.documents("t"), expected, ordered: true, id) }
  }

  /// The value that a merge begins with, which a case may tell in words.
  private static func started(_ value: Value) -> Value {
    guard case .string(let text) = value else { return value }
    if text.hasPrefix("counter "), let sum = Int64(text.dropFirst(8)) { return .counter(sum) }
    if text == "register {x:1,y:1}" { return .map(["x": .int(1), "y": .int(1)]) }
    return value
  }
}

/// Compares rows, where integers and doubles are the same by value; `ordered: false` compares multisets.
func expectRows(_ rows: [Value], _ expected: [Value], ordered: Bool, _ comment: String) {
  var (rows, expected) = (rows, expected)
  if !ordered {
    rows.sort { SortOrder.compare($0, $1) < 0 }
    expected.sort { SortOrder.compare($0, $1) < 0 }
  }
  expectEqual(
    SortOrder.compare(.array(rows), .array(expected)), 0, "\(comment): \(JSON.text(of: .array(rows)))")
}
