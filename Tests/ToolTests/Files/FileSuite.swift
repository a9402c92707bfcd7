import CRDTCore
import DocStore
import Foundation
import TestKit
import Testing

/// A directory with a store, and commands on it.
struct FileScene {
  let directory: TemporaryDirectory
  var store: String { directory.file("store") }

  init() throws { directory = try TemporaryDirectory() }

  func run(_ arguments: String..., input: String = "") throws -> Tool.Outcome {
    try Tool.run(arguments, in: directory.path, input: input)
  }

  /// Makes a file.
  func file(_ name: String, _ text: String) throws -> String {
    try Array(text.utf8).write(to: directory.file(name))
    return directory.file(name)
  }

  func text(_ name: String) throws -> String {
    try String(contentsOfFile: directory.file(name), encoding: .utf8)
  }

  /// The rows of a query, one JSON text a line.
  func query(_ statement: String, store: String? = nil) throws -> String {
    let outcome = try run("query", store ?? self.store, statement, "--json")
    #expect(outcome.status == 0, "\(outcome.errors)")
    return outcome.output
  }

  /// Everything in the collection `things`.
  func contents(_ path: String? = nil) throws -> [Value: [TextKey: Value]] {
    let store = try Store.open(at: path ?? store)
    defer { store.close() }
    return try store.contents(of: "things")
  }

  func fill(_ documents: [Value: [TextKey: Value]]) throws {
    let store = try Store.open(at: store)
    defer { store.close() }
    try store.write { tx in
      for (id, fields) in documents { try tx.upsert(fields, id: DocumentID(id), into: "things") }
    }
  }

  /// The states of imports that are kept in the store's directory.
  func states() throws -> [String] {
    guard FileManager.default.fileExists(atPath: store) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: store).filter { $0.hasPrefix("import-") }
  }
}

/// The object that a command printed for programs.
func object(_ outcome: Tool.Outcome) throws -> [String: Any] {
  try #require(
    try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any], "\(outcome.errors)")
}
