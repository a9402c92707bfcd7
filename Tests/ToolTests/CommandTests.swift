import Foundation
import TestKit
import Testing

@Suite struct CommandTests {
  let directory: TemporaryDirectory
  var store: String { directory.file("store") }

  init() throws { directory = try TemporaryDirectory() }

  private func run(_ arguments: String..., input: String = "") throws -> Tool.Outcome {
    try Tool.run(arguments, in: directory.path, input: input)
  }

  @Test(arguments: ["plain.jsonl", "packed.jsonl.gz"])
  func `what is exported is what was imported`(file: String) throws {
    let lines = (0..<2_500).map { #"{"_id":"d\#(10_000 + $0)","n":\#($0),"nested":{"a":[1,2.5,null,"é"]}}"# }
    let text = lines.joined(separator: "\n") + "\n"
    let imported = try run("import", store, "things", "-", "--batch", "100", input: text)
    #expect(imported.status == 0)
    #expect(imported.output.contains("2,500 documents"))
    let path = directory.file(file)
    #expect(try run("export", store, "things", path).status == 0)
    let again = directory.file("again")
    #expect(try run("import", again, "things", path).status == 0)
    #expect(try run("export", again, "things").output == text)
  }

  @Test func `a bad line is named, and what came before its batch stays`() throws {
    let outcome = try run("import", store, "things", "-", "--batch", "2", input: "{}\n{}\n{}\n{\"a\":tru}\n")
    #expect(outcome.status != 0)
    #expect(outcome.errors.contains("line 4"))
    #expect(outcome.errors.contains("the 2 documents before it are stored"))
    #expect(try run("query", store, "SELECT COUNT(*) AS n FROM things").output == "{\"n\":2}\n")
  }

  @Test func `a document that is no object is refused`() throws {
    let outcome = try run("import", store, "things", "-", input: "[1]\n")
    #expect(outcome.status != 0)
    #expect(outcome.errors.contains("line 1: a document must be a JSON object"))
  }

  @Test func `damaged gzip data are an error that names the file`() throws {
    let file = directory.file("bad.gz")
    try Data([0x1F, 0x8B, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]).write(
      to: URL(fileURLWithPath: file))
    let outcome = try run("import", store, "things", file)
    #expect(outcome.status != 0)
    #expect(outcome.errors.contains("bad.gz"))
  }

  @Test func `a missing file and a missing store are errors that name them`() throws {
    let missing = try run("import", store, "things", directory.file("nothing.jsonl"))
    #expect(missing.status != 0)
    #expect(missing.errors.contains("nothing.jsonl"))
    let query = try run("query", directory.file("no-store"), "SHOW ALL")
    #expect(query.status != 0)
    #expect(query.errors.contains("no-store"))
    #expect(!FileManager.default.fileExists(atPath: directory.file("no-store")))
  }

  @Test func `statements run with arguments, and a bad one says where`() throws {
    #expect(
      try run("import", store, "cars", "-", input: "{\"_id\":1,\"km\":5}\n{\"_id\":2,\"km\":9}\n").status == 0
    )
    let rows = try run("query", store, "SELECT _id FROM cars WHERE km > :min", "--arg", "min=6")
    #expect(rows.output == "{\"_id\":2}\n")
    let bad = try run("query", store, "SELECT _id FROM cars WHERE km >")
    #expect(bad.status != 0)
    #expect(bad.errors.contains("^"))
    let prompt = try run("query", store, input: "SELECT oops\nSELECT _id FROM cars WHERE _id = 1\nquit\n")
    // The rest of a script runs, and its status tells that something failed.
    #expect(prompt.status == 1)
    #expect(prompt.output == "{\"_id\":1}\n")
    #expect(prompt.errors.contains("standard input:1:8: "))
    #expect(prompt.errors.contains("\n1 row, "))
    let good = try run(
      "query", store, input: "SELECT _id FROM cars\n\nUPDATE cars SET km = 7 WHERE _id = 1\nquit\n")
    #expect(good.status == 0)
    #expect(good.errors.contains("2 rows, "))
    #expect(good.errors.contains("1 document changed, "))
    #expect(try run("query", store, "CREATE INDEX km ON cars (km)").errors.contains("done, "))
    #expect(
      try run("query", store, "DELETE FROM cars WHERE _id = 9").errors.contains("no document changed, "))
    // Several statements in one argument are a script.
    let several = try run(
      "query", store, "SELECT _id FROM cars WHERE _id = 1; SELECT oops; SELECT _id FROM cars WHERE _id = 2;")
    #expect(several.status == 1)
    #expect(several.output == "{\"_id\":1}\n{\"_id\":2}\n")
    #expect(several.errors.contains("statement:1:"))
    #expect(try run("query", store, "SELECT _id FROM cars WHERE _id = 1;").output == "{\"_id\":1}\n")
    // A hint stands under each result that it concerns.
    let typo = String(repeating: "SELECT _id FROM cars WHERE kmh = 7\n", count: 2)
    let hinted = try run("query", store, input: typo)
    #expect(hinted.status == 0 && hinted.output.isEmpty)
    #expect(hinted.errors.components(separatedBy: "hint: a query asks for the field 'kmh'").count == 3)
    #expect(hinted.errors.components(separatedBy: "did you mean 'km'?").count == 3)
  }

  @Test func `rows come as separated values if the statement names its columns`() throws {
    let lines = #"{"_id":"a","t":"x,\"y\"","m":{"k":[1]}}"# + "\n" + #"{"_id":"b","t":null,"n":1.5}"#
    #expect(try run("import", store, "cars", "-", input: lines).status == 0)
    let rows = try run("query", store, "SELECT _id, t, m, n FROM cars", "--csv")
    #expect(rows.output == "_id,t,m,n\r\na,\"x,\"\"y\"\"\",\"{\"\"k\"\":[1]}\",\r\nb,,,1.5\r\n")
    let none = try run("query", store, "SELECT _id, t FROM cars WHERE _id = 'c'", "--csv")
    #expect(none.output == "_id,t\r\n")
    let unnamed = try run("query", store, "SELECT * FROM cars", "--csv")
    #expect(unnamed.status != 0 && unnamed.errors.contains("dunlin export"))
  }

  @Test func `a parameter that is not JSON says how a text is written`() throws {
    let wrong = try run("query", store, "SELECT * FROM cars WHERE t = :t", "--arg", "t=red")
    #expect(wrong.status != 0)
    #expect(wrong.errors.contains(#"--arg 't="red"'"#))
    #expect(try run("query", store, "SELECT 1", "--arg", "=1").errors.contains("no name and value"))
  }

  @Test(arguments: [
    ("{\"_id\":1.5}", "Floats are not supported"), ("{\"_id\":null}", "Null document ID"),
    ("{\"_id\":\"\(String(repeating: "x", count: 300))\"}", "lines.jsonl"),
    ("{\"a\":{\"$counter\":\"x\"}}", "$counter"), ("{\"a\":1,\"a\":2}", "each key once"),
    ("{\"a\":", "the text ends"),
    ("{\"a\":\(String(repeating: "[", count: 65))\(String(repeating: "]", count: 65))}", "levels"),
  ])
  func `a mistake is told with the file and the line, whoever finds it`(line: String, words: String) throws {
    let file = directory.file("lines.jsonl")
    try Data("{\"_id\":1}\n\n{\"_id\":2}\n\(line)\n".utf8).write(to: URL(fileURLWithPath: file))
    let first = try run("import", store, "things", file)
    #expect(first.status == 1)
    #expect(first.errors.contains("lines.jsonl, line 4: "), "\(first.errors)")
    #expect(first.errors.contains(words), "\(first.errors)")
    // Nothing was stored, so there is no store.
    #expect(!FileManager.default.fileExists(atPath: store))
    #expect(try run("import", store, "things", "-", input: "{\"_id\":0}\n").status == 0)
    let later = try run("import", store, "things", file, "--batch", "2")
    #expect(later.status == 1)
    #expect(later.errors.contains("lines.jsonl, line 4: "), "\(later.errors)")
    #expect(later.errors.contains("the 2 documents before it are stored"), "\(later.errors)")
    #expect(try run("query", store, "SELECT COUNT(*) AS n FROM things").output == "{\"n\":3}\n")
  }

  @Test func `an import that cannot begin leaves no store behind`() throws {
    let empty = directory.file("folder")
    try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: false)
    for (arguments, words) in [
      (
        ["import", store, "things", directory.file("missing.jsonl")],
        "missing.jsonl: cannot be opened for reading: No such"
      ),
      (["import", store, "things", empty], "folder: cannot be read: Is a directory"),
      (["import", store, "__things", "-"], "reserved"), (["import", store, "", "-"], "is empty"),
    ] {
      let outcome = try Tool.run(arguments, in: directory.path, input: "{}\n")
      expectEqual(outcome.status, 1)
      expect(outcome.errors.contains(words), "\(outcome.errors)")
      expect(!FileManager.default.fileExists(atPath: store), "\(arguments)")
    }
  }

  @Test(arguments: [
    ("backup", ["no/such/folder"]), ("inspect", []), ("rescue", ["copy"]), ("verify", []),
    ("query", ["SELECT 1"]),
  ])
  func `an error is told in words, with the path`(command: String, more: [String]) throws {
    let isBackup = command == "backup"
    if isBackup { #expect(try run("import", store, "things", "-", input: "{}\n").status == 0) }
    let outcome = try Tool.run(
      [command, isBackup ? store : directory.file("absent")]
        + more.map { command == "query" ? $0 : directory.file($0) }, in: directory.path)
    #expect(outcome.status == 1)
    #expect(outcome.errors.contains(isBackup ? "no/such" : "absent"), "\(outcome.errors)")
    for riddle in ["returned", "mkdir", "Cocoa", "NSPOSIX", "Error Domain"] {
      expect(!outcome.errors.contains(riddle), "\(outcome.errors)")
    }
  }

  @Test(arguments: [
    ("[::1]:0", true), ("127.0.0.1:0", true), ("::1:0", false), ("[::1]", false), ("::1", false),
    ("[]:1", false),
    (":1", false), ("localhost:99999", false), ("localhost:+1", false), ("localhost:", false),
  ])
  func `an address is a host and a port, an IPv6 host in brackets`(address: String, isGood: Bool) throws {
    let process = Tool.process(["serve", store, "--listen", address])
    let (output, errors) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    let first = output.fileHandleForReading.availableData
    if isGood {
      let text = String(decoding: first, as: UTF8.self)
      let hasPort = text.contains("listening on port")
      process.terminate()
      let rest = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      // A machine may have no IPv6, and then says so.
      #expect(hasPort || rest.contains("Cannot listen on [::1]"), "\(rest)")
    }
    process.waitUntilExit()
    if !isGood {
      #expect(process.terminationStatus == 64)
      #expect(first.isEmpty)
    }
  }

  @Test func `inspecting shows the collections, and one document by its id`() throws {
    #expect(try run("import", store, "cars", "-", input: "{\"_id\":\"a b\",\"km\":5}\n").status == 0)
    #expect(try run("inspect", store).output.contains("cars"))
    #expect(try run("inspect", store, "cars").output.contains("damaged     0"))
    #expect(try run("inspect", store, "cars", "a b").output.contains("\"km\": 5"))
    #expect(try run("inspect", store, "cars", "nobody").status != 0)
  }

  @Test func `a store in use is refused at once, and the one that uses it goes on`() async throws {
    let holder = Tool.process(["serve", store, "--control"])
    let input = Pipe()
    let output = Pipe()
    holder.standardInput = input
    holder.standardOutput = output
    holder.standardError = FileHandle.nullDevice
    try holder.run()
    defer {
      try? input.fileHandleForWriting.close()
      holder.waitUntilExit()
    }
    try input.fileHandleForWriting.write(contentsOf: Data("{\"id\":1,\"do\":\"counts\"}\n".utf8))
    #expect(String(decoding: output.fileHandleForReading.availableData, as: UTF8.self).contains("\"id\":1"))
    let refused = try run("inspect", store)
    #expect(refused.status != 0)
    #expect(refused.errors.lowercased().contains("open"))
    try input.fileHandleForWriting.write(contentsOf: Data("{\"id\":2,\"do\":\"counts\"}\n".utf8))
    #expect(String(decoding: output.fileHandleForReading.availableData, as: UTF8.self).contains("\"id\":2"))
  }

  @Test func `a port in use is an error that names it`() throws {
    let holder = Tool.process(["serve", store, "--control"])
    let input = Pipe()
    let output = Pipe()
    holder.standardInput = input
    holder.standardOutput = output
    holder.standardError = FileHandle.nullDevice
    try holder.run()
    defer {
      try? input.fileHandleForWriting.close()
      holder.waitUntilExit()
    }
    let requests = "{\"id\":1,\"do\":\"listen\"}\n{\"id\":2,\"do\":\"start\"}\n"
    try input.fileHandleForWriting.write(contentsOf: Data(requests.utf8))
    var answers = ""
    while !answers.contains("ports") {
      let data = output.fileHandleForReading.availableData
      if data.isEmpty { break }
      answers += String(decoding: data, as: UTF8.self)
    }
    let port = try #require(answers.firstMatch(of: /"ports":\[(\d+)\]/)?.1)
    let refused = try run("serve", directory.file("other"), "--listen", "127.0.0.1:\(port)")
    #expect(refused.status != 0)
    #expect(refused.errors.contains("\(port)"))
  }
}
