import CRDTCore
import DocStore
import Foundation
import TestKit
import Testing

/// `dunlin export` with each format, and what is read back.
@Suite(.timeLimit(.minutes(15))) struct ExportFormatTests {
  let scene: FileScene

  init() throws { scene = try FileScene() }

  private func documents(seed: UInt64, hasNulls: Bool) -> [Value: [TextKey: Value]] {
    var maker = DocumentMaker(seed: seed)
    maker.hasNulls = hasNulls
    var documents: [Value: [TextKey: Value]] = [:]
    for number in 0..<60 {
      let id: Value =
        switch number % 7 {
        case 0: .string("")
        case 1: .string("00\(number)")
        case 2: .array([.int(Int64(number))])
        case 3: .bytes([UInt8(number)])
        default: .int(Int64(number))
        }
      documents[id] = maker.fields().filter { $0.key != "_id" }
    }
    return documents
  }

  @Test(arguments: 1...4 as ClosedRange<UInt64>, ["a.jsonl", "a.json", "a.json.gz"])
  func `JSON gives back every document`(seed: UInt64, name: String) throws {
    try scene.fill(documents(seed: seed, hasNulls: true))
    let before = try scene.contents()
    let file = scene.directory.file(name)
    let exported = try scene.run("export", scene.store, "things", file)
    #expect(exported.status == 0, "\(exported.errors)")
    let again = scene.directory.file("again")
    let imported = try scene.run("import", again, "things", file)
    #expect(imported.status == 0, "\(imported.errors)")
    #expect(try scene.contents(again) == before)
  }

  @Test(arguments: 1...6 as ClosedRange<UInt64>, ["a.csv", "a.tsv.gz"])
  func `columns give back every document that has no null, with the types that are told`(
    seed: UInt64, name: String
  ) throws {
    try scene.fill(documents(seed: seed, hasNulls: false))
    let before = try scene.contents()
    let file = scene.directory.file(name)
    let exported = try scene.run("export", scene.store, "things", file, "--json")
    #expect(exported.status == 0, "\(exported.errors)")
    let summary = try object(exported)
    #expect(summary["nulls"] as? Int == 0 && summary["documents"] as? Int == before.count)
    let types = try #require(summary["types"] as? String)
    let again = scene.directory.file("again")
    let imported = try scene.run("import", again, "things", file, "--types", types)
    #expect(imported.status == 0, "\(imported.errors) with \(types)")
    let after = try scene.contents(again)
    for (id, fields) in before where after[id] != fields {
      Issue.record("\(id): \(fields) came back as \(String(describing: after[id]))")
    }
    #expect(after.count == before.count)
  }

  @Test func `texts and numbers in columns come back without types being said`() throws {
    let documents: [Value: [TextKey: Value]] = [
      .int(1): ["s": .string("007"), "n": .int(7), "d": .double(1.5), "b": .bool(true), "e": .string("")],
      .int(2): [
        "s": .string("12"), "n": .int(-1), "d": .double(2), "b": .bool(false),
        "m": .map(["x": .string("true")]),
      ],
    ]
    try scene.fill(documents)
    let exported = try scene.run("export", scene.store, "things", "-", "--format", "csv")
    #expect(
      exported.output
        == "_id,b,d,e,m.x,n,s\r\n1,true,1.5,\"\",,7,007\r\n2,false,2.0,,\"true\",-1,\"12\"\r\n")
    #expect(exported.errors.contains("--types '_id:int,b:bool,d:double,n:int'"), "\(exported.errors)")
    let again = scene.directory.file("again")
    #expect(
      try scene.run("import", again, "things", "-", "--format", "csv", input: exported.output).status == 0)
    #expect(try scene.contents(again) == documents)
  }

  @Test func `what columns lose is told`() throws {
    try scene.fill([
      .int(1): [
        "a": .null, "b": .map(["c": .null]), "l": .array([.null]), "k": .counter(3), "x": .double(.nan),
      ],
      .int(2): ["a": .int(1), "k": .int(4)],
    ])
    let exported = try scene.run("export", scene.store, "things", "-", "--format", "csv")
    #expect(exported.errors.contains("2 values that are null"), "\(exported.errors)")
    #expect(exported.output == "_id,a,b.c,k,l,x\r\n1,,,\"{\"\"$counter\"\":3}\",[null],nan\r\n2,1,,4,,\r\n")
    let plain = try scene.run("export", scene.store, "things", "-", "--format", "csv", "--plain")
    #expect(plain.output == "_id,a,b.c,k,l,x\r\n1,,,3,[null],\r\n2,1,,4,,\r\n")
    #expect(plain.errors.contains("2 values lost their type"))
    let wide = try scene.run("export", scene.store, "things", "-", "--delimiter", ";")
    #expect(wide.output.hasPrefix("_id;a;b.c;k;l;x\r\n"))
  }

  @Test func `an array is one JSON text, also an empty one`() throws {
    try scene.fill([.int(1): ["a": .string("x")], .int(2): [:]])
    let exported = try scene.run("export", scene.store, "things", "-", "--format", "json")
    #expect(exported.output == "[\n{\"_id\":1,\"a\":\"x\"},\n{\"_id\":2}\n]\n")
    #expect(try scene.run("query", scene.store, "DELETE FROM things WHERE _id > 0").status == 0)
    let empty = try scene.run("export", scene.store, "things", "-", "--format", "json")
    #expect(try JSONSerialization.jsonObject(with: Data(empty.output.utf8)) as? [Int] == [])
  }

  @Test func `a file that is there is replaced with --force alone`() throws {
    try scene.fill([.int(1): [:]])
    let file = try scene.file("kept.jsonl", "kept\n")
    let refused = try scene.run("export", scene.store, "things", file)
    #expect(refused.status == 1)
    #expect(refused.errors.contains("kept.jsonl: there is a file already; --force replaces it"))
    #expect(try scene.text("kept.jsonl") == "kept\n")
    let forced = try scene.run("export", scene.store, "things", file, "--force")
    #expect(forced.status == 0 && forced.output == "1 document exported to \(file)\n")
    #expect(try scene.text("kept.jsonl") == "{\"_id\":1}\n")
    #expect(try scene.directory.contents().allSatisfy { !$0.contains("partial") })
    let json = try scene.run("export", scene.store, "things", "-", "--json")
    #expect(json.status == 64)
  }

  @Test func `interrupted, it leaves nothing behind`() async throws {
    try scene.fill(
      Dictionary(uniqueKeysWithValues: (0..<5_000).map { (.int(Int64($0)), ["t": .string("text")]) }))
    let file = scene.directory.file("folder/out.csv")
    try FileManager.default.createDirectory(
      atPath: scene.directory.file("folder"), withIntermediateDirectories: false)
    let process = Tool.process(["export", scene.store, "things", file])
    (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
    try process.run()
    func left() -> [String] {
      (try? FileManager.default.contentsOfDirectory(atPath: scene.directory.file("folder"))) ?? []
    }
    while left().isEmpty, process.isRunning { await pause() }
    kill(process.processIdentifier, SIGINT)
    while process.isRunning { await pause() }
    // It may have been done by then.
    #expect(process.terminationStatus == 130 ? left() == [] : left() == ["out.csv"])
  }
}
