import CRDTCore
import DocStore
import Foundation
import TestKit
import Testing

@Suite struct MaintenanceCommandTests {
  let directory: TemporaryDirectory
  var store: String { directory.file("store") }
  var data: URL { URL(fileURLWithPath: store + "/data.mdb") }

  init() throws {
    directory = try TemporaryDirectory()
    let lines = (0..<500).map { #"{"_id":"d\#($0)","note":"a note with the number \#($0) in it"}"# }
    #expect(
      try run("import", store, "things", "-", input: lines.joined(separator: "\n") + "\n").status == 0)
  }

  private func run(_ arguments: String..., input: String = "") throws -> Tool.Outcome {
    try Tool.run(arguments, in: directory.path, input: input)
  }

  /// Changes every copy of `text` in the store's file, which stays the same file.
  private func damage(_ text: String) throws {
    var data = try Data(contentsOf: data)
    var start = data.startIndex
    while let place = data.range(of: Data(text.utf8), in: start..<data.endIndex) {
      data[place.lowerBound] ^= 1
      start = place.upperBound
    }
    let handle = try FileHandle(forWritingTo: self.data)
    try handle.write(contentsOf: data)
    try handle.close()
  }

  @Test func `a collection that does not exist is named, with the nearest name`() throws {
    for command in [
      ["inspect", store, "thnigs"], ["inspect", store, "thnigs", "d1"], ["evict", store, "thnigs", "d1"],
      ["export", store, "thnigs"], ["export", store, "thnigs", "--raw", "d1"],
    ] {
      let outcome = try Tool.run(command, in: directory.path)
      expect(outcome.status == 1 && outcome.output.isEmpty, "\(command): \(outcome)")
      expect(outcome.errors.contains("there is no collection 'thnigs'; did you mean 'things'?"), "\(outcome)")
    }
    #expect(try run("evict", store, "things", "no").errors.contains("things has no document no"))
  }

  /// A snapshot of a file system is one, and so is a backup on a share that is mounted so.
  @Test(.enabled(if: Tool.mountsReadOnly, "this user may not mount here"))
  func `a store on a medium that cannot be written to is read, verified, copied and rescued`()
    throws
  {
    let copy = directory.file("backup")
    #expect(try run("backup", store, copy).status == 0)
    let before = try FileManager.default.contentsOfDirectory(atPath: copy).sorted()
    for place in [store, copy] {
      let verified = try Tool.run(readingOnly: place, ["verify", place], in: directory.path)
      expect(verified.status == 0, "\(verified)")
      let rescued = try Tool.run(
        readingOnly: place, ["rescue", place, place + "-rescued"], in: directory.path)
      expect(rescued.status == 0, "\(rescued)")
      try expectEqual(run("query", place + "-rescued", "SELECT _id FROM things LIMIT 1").status, 0)
    }
    #if Server
      let restored = try Tool.run(
        readingOnly: copy, ["restore", "--data", directory.file("server"), copy], in: directory.path,
        program: "bigpeer")
      expect(restored.status == 0, "\(restored)")
    #endif
    try expectEqual(FileManager.default.contentsOfDirectory(atPath: copy).sorted(), before)
    let exported = try run("export", store, "things").output
    for (number, place) in [store, copy].enumerated() {
      let again = directory.file("again\(number)")
      for command in [
        ["query", place, "SELECT COUNT(*) AS n FROM things"], ["stats", place], ["inspect", place, "things"],
        ["backup", place, again], ["export", place, "things"],
      ] {
        let outcome = try Tool.run(readingOnly: place, command, in: directory.path)
        // A query says on standard error how many rows it found.
        let isQuiet = command[0] == "query" || outcome.errors.isEmpty
        expect(outcome.status == 0 && isQuiet, "\(command): \(outcome)")
        if command[0] == "query" { expectEqual(outcome.output, "{\"n\":500}\n") }
        if command[0] == "export" { expectEqual(outcome.output, exported) }
      }
      try expectEqual(run("export", again, "things").output, exported)
      for command in [
        ["query", place, "UPDATE things SET note = 'x'"],
        ["query", place, "CREATE INDEX n ON things (note)"],
        ["evict", place, "things", "d1"], ["erase", place, "things", "d1"], ["compact", place],
      ] {
        let refused = try Tool.run(readingOnly: place, command, in: directory.path)
        expect(
          refused.status == 1 && refused.errors.contains("readOnlyStore")
            && !refused.errors.contains("permission"), "\(command): \(refused)")
      }
    }
    try expectEqual(FileManager.default.contentsOfDirectory(atPath: copy).sorted(), before)
  }

  @Test(arguments: [
    "demo", "bench", "serve", "import", "export", "query", "inspect", "stats", "verify", "rescue", "backup",
    "backups", "restore",
    "compact", "evict", "erase", "status", "top", "why",
  ])
  func `every command explains itself, and makes nothing`(command: String) throws {
    let before = try directory.contents()
    for arguments in [[command, "--help"], ["help", command]] {
      let outcome = try Tool.run(arguments, in: directory.path)
      expectEqual(outcome.status, 0)
      expect(outcome.output.contains("USAGE: dunlin \(command)"))
      expect(outcome.output.contains("OVERVIEW"))
      expect(outcome.output.contains("Example"), "\(command) has no example")
      // An example is one line, also where the terminal has 80 columns.
      let lines = outcome.output.components(separatedBy: "\n")
      for (line, next) in zip(lines, lines.dropFirst()) where line.contains("  dunlin ") {
        expect(next.isEmpty || next.hasPrefix("  "), "\(line)")
      }
    }
    let unknown = try Tool.run([command, "--no-such-option"], in: directory.path)
    #expect(unknown.status == 64)
    #expect(unknown.errors.contains("Usage: dunlin \(command)"))
    #expect(
      Set(try directory.contents()).subtracting(["output", "errors", "input"])
        == Set(before).subtracting(["output", "errors", "input"]))
  }

  @Test func `a whole store verifies, and statistics tell what it holds`() throws {
    let verified = try run("verify", store)
    #expect(verified.status == 0)
    #expect(verified.output.contains("Nothing is damaged: 500 documents"))
    let text = try run("stats", store)
    #expect(text.status == 0)
    #expect(text.output.contains("documents   500"))
    let json = try run("stats", store, "--json")
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
    #expect(object["documents"] as? Int == 500)
    #expect((object["collections"] as? [String: [String: Int]])?["things"]?["tombstones"] == 0)
    #expect((object["fileBytes"] as? Int ?? 0) > 50_000)
  }

  @Test func `a damaged document is named, its bytes can be had, and evicting it makes the store whole`()
    throws
  {
    try damage("the number 321 in it")
    let verified = try run("verify", store)
    #expect(verified.status == 3)
    #expect(verified.errors.contains("went through 500 documents, "), "\(verified.errors)")
    #expect(verified.errors.contains("could not read 1 document, 0 entries, 0 pages"), "\(verified.errors)")
    let id = try #require(verified.output.firstMatch(of: #/collection things, document ([0-9a-f]+): /#)?.1)
    #expect(verified.output.split(separator: "\n").count == 1)
    #expect(!verified.output.contains("number"))
    let file = directory.file("raw")
    for name in ["hex:\(id)", "d321"] {
      try expectEqual(run("export", store, "things", file, "--force", "--raw", name).status, 0)
      let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
      expect(bytes.range(of: Data("he number 321 in it".utf8)) != nil)
    }
    #expect(try run("export", store, "things", "--raw", "nobody").status == 1)
    #expect(try run("export", store, "things", "--raw", "hex:1").status == 1)
    #expect(try run("evict", store, "things", "hex:\(id)").status == 0)
    #expect(try run("evict", store, "things", "d321").status == 1)
    #expect(try run("verify", store).output.contains("Nothing is damaged: 499 documents"))
  }

  @Test func `what is erased is in no file once the store is compacted`() throws {
    let text = Data("the number 321 in it".utf8)
    func holdsIt() throws -> Bool {
      try Data(contentsOf: URL(fileURLWithPath: store + "/data.mdb")).range(of: text) != nil
    }
    #expect(try holdsIt())
    let erased = try run("erase", store, "things", "d321", "nobody")
    #expect(erased.status == 0)
    #expect(erased.output.contains("1 found here, 1 not known here"), "\(erased.output)")
    #expect(erased.output.contains("backups"))
    #expect(try run("compact", store).status == 0)
    #expect(try !holdsIt())
    #expect(try run("erase", store, "things", "d321", "--json").output.contains("\"found\":0"))
    #expect(try run("erase", store, "thnigs", "d1").errors.contains("did you mean 'things'?"))
  }

  /// Writes what sync has staged of a transfer whose link broke: the site of the sender, and a beginning.
  private func stage(_ text: String, of id: String, _ transaction: WriteTransaction) throws {
    var beginning = ByteWriter()
    beginning.writeVarint(1)
    beginning.writeString("things")
    beginning.writeBlob(try DocumentID(id).bytes)
    beginning.write(0)
    beginning.writeVarint(1 << 20)
    beginning.write(Array(text.utf8))
    for (number, bytes) in [[UInt8](repeating: 7, count: 16), beginning.bytes].enumerated() {
      var key = ByteWriter()
      key.write(Array("transfer\(id)".utf8))
      while key.count < 16 { key.write(0) }
      key.writeFixed(UInt32(number))
      var value = ByteWriter()
      value.writeFixed(try transaction.lastingTime())
      value.write(bytes)
      try transaction.setSideValue(value.bytes, SideTable(working: "staging"), key: key.bytes)
    }
  }

  @Test func `what is staged of an erased document goes, too, and what is staged of others stays`() throws {
    let parts = ["d1", "d2"].map { (id: $0, text: "a part of \($0) that must not sing") }
    func held() throws -> [String] {
      let file = try Data(contentsOf: data)
      return parts.filter { file.range(of: Data($0.text.utf8)) != nil }.map(\.id)
    }
    let opened = try Store.open(at: store)
    try opened.write { transaction in
      for part in parts { try stage(part.text, of: part.id, transaction) }
    }
    opened.close()
    #expect(try held() == ["d1", "d2"])
    #expect(try run("erase", store, "things", "d1").status == 0)
    #expect(try run("compact", store).status == 0)
    #expect(try held() == ["d2"])
    #expect(try run("verify", store).status == 0)
  }

  @Test func `a store that does not open can be verified, and rescued into a new one`() throws {
    // The name of a field, in the store's own table.
    try damage("\u{4}note")
    let refused = try run("stats", store)
    #expect(refused.status == 1)
    #expect(refused.errors.contains("damaged"))
    let verified = try run("verify", store)
    #expect(verified.status == 3)
    #expect(verified.output.contains("the table keys"))
    #expect(verified.errors.contains("500 documents"))
    let copy = directory.file("rescued")
    let rescued = try run("rescue", store, copy)
    #expect(rescued.status == 0)
    #expect(rescued.output.contains("the table keys"))
    #expect(rescued.output.contains("500 documents"))
    #expect(try run("verify", copy).status == 0)
    #expect(try run("export", copy, "things").output.contains("the number 321 in it"))
    #expect(try run("rescue", store, copy).errors.contains("something at the path already"))
  }

  @Test func `a series of backups is made, listed, checked, restored to a moment and pruned`() throws {
    let series = directory.file("series")
    let first = try run("backup", "--series", store, series)
    #expect(first.status == 0 && first.output.contains("point 1, base, "), "\(first)")
    #expect(try run("query", store, "INSERT INTO things DOCUMENTS ({'_id': 'late'})").status == 0)
    let second = try run("backup", "--series", store, series, "--json")
    #expect(second.status == 0 && second.output.contains("\"isBase\":false"), "\(second)")
    #expect(try run("backup", "--series", "--base", store, series).output.contains("point 3, base, "))
    let listed = try run("backups", series)
    #expect(listed.output.split(separator: "\n").count == 3, "\(listed)")
    #expect(try run("backups", series, "--check").output.contains("3 points, all intact"))
    let count = "SELECT COUNT(*) AS n FROM things"
    let (early, late) = (directory.file("early"), directory.file("late"))
    #expect(try run("restore", series, early, "--point", "1").status == 0)
    #expect(try run("query", early, count).output == "{\"n\":500}\n")
    #expect(try run("restore", series, late).output.contains("point 3 of "))
    #expect(try run("query", late, count).output == "{\"n\":501}\n")
    let exists = try run("restore", series, late)
    #expect(exists.status == 1 && exists.errors.contains("something at the path already"))
    let before = try run("restore", series, directory.file("none"), "--at", "1999-01-01T00:00:00Z")
    #expect(before.status == 1 && before.errors.contains("does not have"), "\(before)")
    #expect(try run("restore", series, late, "--at", "yesterday").status == 64)
    #expect(try run("backup", "--base", store, directory.file("copy")).status == 64)
    #expect(try run("backups", series, "--prune-before", "2100-01-01T00:00:00Z").output.contains("2 points"))
    #expect(try run("backups", series).output.hasPrefix("3  base"))
    let file = URL(fileURLWithPath: series + "/00000003.base")
    var bytes = try Data(contentsOf: file)
    bytes[bytes.count / 2] ^= 1
    try bytes.write(to: file)
    let damaged = try run("backups", series, "--check")
    #expect(damaged.status == 3 && damaged.errors.contains("00000003.base is damaged at byte"), "\(damaged)")
  }

  @Test func `what is backed up can be read, and nothing is written over`() throws {
    let copy = directory.file("copy")
    let outcome = try run("backup", store, copy)
    #expect(outcome.status == 0)
    #expect(outcome.output.contains("500 documents"))
    #expect(try run("export", copy, "things").output == run("export", store, "things").output)
    let again = try run("backup", store, copy)
    #expect(again.status == 1)
    #expect(again.errors.contains("something at the path already"))
  }

  @Test func `compacting makes the file smaller`() throws {
    #expect(try run("query", store, "EVICT FROM things WHERE _id != 'd7'").status == 0)
    func fileBytes() throws -> Int { try Data(contentsOf: data).count }
    let before = try fileBytes()
    #expect(try run("compact", store).status == 0)
    #expect(try fileBytes() < before / 2)
    #expect(try run("query", store, "SELECT _id FROM things").output == "{\"_id\":\"d7\"}\n")
  }

  @Test(arguments: ["backup", "rescue"])
  func `system parameters that are kept go along`(command: String) throws {
    let kept = #"{"user_collection_sync_scopes":{"things":"LocalPeerOnly"}}"#
    let (file, copy) = (store + "/parameters", directory.file("copy"))
    try Data(kept.utf8).write(to: URL(fileURLWithPath: file))
    // Others could read it: nothing is made.
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
    #expect(try run(command, store, copy).status != 0)
    #expect(!FileManager.default.fileExists(atPath: copy))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    #expect(try run(command, store, copy).status == 0)
    #expect(try String(contentsOfFile: copy + "/parameters", encoding: .utf8) == kept)
  }

  @Test(arguments: ["verify", "rescue", "backup", "compact", "stats", "evict", "export"])
  func `a store that is not there is an error, and is not made`(command: String) throws {
    let more =
      ["backup": ["target"], "rescue": ["target"], "evict": ["things", "d1"], "export": ["things"]][command]
      ?? []
    let path = directory.file("nothing")
    let outcome = try Tool.run([command, path] + more, in: directory.path)
    #expect(outcome.status == 1)
    #expect(!outcome.errors.isEmpty)
    #expect(!FileManager.default.fileExists(atPath: path))
  }
}
