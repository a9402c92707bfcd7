import CRDTCore
import DocStore
import Foundation
import TestKit
import Testing

/// Exports that give back what they were made of, and leave their target alone when they fail.
@Suite struct ExportTests {
  let directory: TemporaryDirectory
  var store: String { directory.file("store") }

  init() throws { directory = try TemporaryDirectory() }

  private func run(_ arguments: String..., input: String = "") throws -> Tool.Outcome {
    try Tool.run(arguments, in: directory.path, input: input)
  }

  private static let documents: [Value: [TextKey: Value]] = [
    .string("counter"): ["n": .counter(41), "in": .map(["deep": .counter(-1)])],
    .string("bytes"): ["b": .bytes([0, 1, 255]), "none": .bytes([])],
    .string("numbers"): [
      "nan": .double(.nan), "inf": .double(-.infinity), "whole": .double(3), "zero": .double(-0.0),
      "int": .int(.max), "small": .double(.leastNonzeroMagnitude),
    ],
    .string("tags"): [
      "a": .map(["$counter": .int(1)]), "b": .map(["$bytes": .string("AA==")]),
      "c": .map(["$$double": .null]),
      "d": .array([.map(["$attachment": .map([:])])]), "e": .map(["$other": .int(1)]),
    ],
    .string("attachment"): [
      "file": .attachment(
        AttachmentToken(id: [9, 8], byteCount: 7, metadata: ["$bytes": "AA==", "name": "x"]))
    ],
    .string("names"): ["": .int(1), "a.b": .int(2), "x y": .int(3), "$": .null, "nul\u{0}": .bool(true)],
    .int(7): ["null": .null, "map": .map([:]), "list": .array([.array([])])],
    .bytes([1, 2]): ["kind": .string("bytes as an id")],
    .map(["$bytes": .string("AA==")]): ["kind": .string("an id that looks like a tag")],
    .array([.int(1), .map(["a": .bool(true)])]): ["kind": .string("a list as an id")],
  ]

  private func fill(_ documents: [Value: [TextKey: Value]]) throws {
    let store = try Store.open(at: store)
    defer { store.close() }
    try store.write { tx in
      for (id, fields) in documents { try tx.upsert(fields, id: DocumentID(id), into: "things") }
    }
  }

  private func contents(_ path: String) throws -> [Value: [TextKey: Value]] {
    let store = try Store.open(at: path)
    defer { store.close() }
    return try store.read { tx in
      var found: [Value: [TextKey: Value]] = [:]
      let collection = try #require(try tx.collection("things"))
      try tx.forEachRecord(in: collection) { id, _, record in
        found[try DocumentID(validating: id).value] = try record.fields(collection.keys)
        return true
      }
      return found
    }
  }

  @Test(arguments: ["all.jsonl", "all.jsonl.gz"])
  func `import reads back every value that export wrote`(name: String) throws {
    try fill(Self.documents)
    let file = directory.file(name)
    let exported = try run("export", store, "things", file)
    #expect(exported.status == 0, "\(exported.errors)")
    let again = directory.file("again")
    let imported = try run("import", again, "things", file)
    #expect(imported.status == 0, "\(imported.errors)")
    #expect(try contents(again) == contents(store))
    #expect(try contents(again) == Self.documents)
  }

  @Test func `plain JSON has no tags, and says how many values lost their type`() throws {
    try fill([
      .string("a"): [
        "n": .counter(4), "b": .bytes([255]), "x": .double(.nan), "d": .double(1.5),
        "m": .map(["$counter": .int(1)]),
      ]
    ])
    let plain = try run("export", store, "things", "-", "--plain")
    #expect(
      plain.output == "{\"_id\":\"a\",\"b\":\"/w==\",\"d\":1.5,\"m\":{\"$counter\":1},\"n\":4,\"x\":null}\n")
    #expect(plain.errors.contains("3 values lost their type"))
    let again = directory.file("again")
    #expect(try run("import", again, "things", "-", "--plain", input: plain.output).status == 0)
    #expect(try contents(again)[.string("a")]?["m"] == .map(["$counter": .int(1)]))
    let tagged = try run("import", again, "tagged", "-", input: plain.output)
    #expect(tagged.status == 0)
    #expect(try run("query", again, "SELECT type(m) AS t FROM tagged").output.contains("map") == false)
  }

  @Test func `an export that fails leaves its target as it was`() throws {
    let file = directory.file("kept.jsonl")
    try Data("kept\n".utf8).write(to: URL(fileURLWithPath: file))
    try fill([.string("a"): ["n": .int(1)]])
    for arguments in [
      ["export", store, "nothing", file, "--force"],
      ["export", directory.file("no-store"), "things", file, "--force"],
      ["export", store, "things", file, "--force", "--raw", "nobody"],
      // Without --force what is there stays.
      ["export", store, "things", file], ["export", store, "things", file, "--raw", "a"],
    ] {
      let outcome = try Tool.run(arguments, in: directory.path)
      expectEqual(outcome.status, 1)
      try expectEqual(String(contentsOfFile: file, encoding: .utf8), "kept\n", "\(arguments)")
    }
    let folder = try run("export", store, "things", directory.file("no-folder/file"))
    #expect(folder.status == 1)
    #expect(folder.errors.contains("no-folder/file: cannot be opened for writing: No such file"))
    #expect(try directory.contents().filter { $0.contains("partial") }.isEmpty)
    // What takes the place of a file is whole, and keeps who may read it.
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    let link = directory.file("link.jsonl")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
    #expect(try run("export", store, "things", link, "--force").status == 0)
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "{\"_id\":\"a\",\"n\":1}\n")
    #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == file)
    #expect(try run("export", store, "things", "/dev/null").status == 0)
    let full = try run("export", store, "things", "/dev/full")
    #expect(full.status == 1)
    #expect(full.errors.contains("/dev/full: cannot be written: No space left on device"))
  }
}
