import DunlinKit
import Foundation
import TestKit
import Testing

@testable import dunlin

/// What commands say to programs: JSON, and their status.
@Suite(.timeLimit(.minutes(15))) struct OutputTests {
  let scene: FileScene

  init() throws {
    scene = try FileScene()
    let lines = (0..<200).map { #"{"_id":"d\#($0)","note":"a note with the number \#($0) in it"}"# }
    #expect(
      try scene.run("import", scene.store, "things", "-", input: lines.joined(separator: "\n")).status == 0)
  }

  /// Changes every copy of a text in the store's file.
  private func damage(_ text: String) throws {
    let url = URL(fileURLWithPath: scene.store + "/data.mdb")
    var data = try Data(contentsOf: url)
    var start = data.startIndex
    while let place = data.range(of: Data(text.utf8), in: start..<data.endIndex) {
      data[place.lowerBound] ^= 1
      start = place.upperBound
    }
    let handle = try FileHandle(forWritingTo: url)
    try handle.write(contentsOf: data)
    try handle.close()
  }

  @Test func `commands on stores print one JSON object each`() throws {
    let file = scene.directory.file("out.jsonl")
    let (copy, rescued) = (scene.directory.file("copy"), scene.directory.file("rescued"))
    let commands: [([String], String, Int)] = [
      (["stats", scene.store], "documents", 200), (["verify", scene.store], "documents", 200),
      (["backup", scene.store, copy], "documents", 200),
      (["rescue", scene.store, rescued], "documents", 200),
      (["inspect", scene.store, "things"], "documents", 200),
      (["export", scene.store, "things", file], "documents", 200),
      (["export", scene.store, "things", file, "--raw", "d7", "--force"], "bytes", -1),
      (["import", copy, "things", file + ".none"], "", 1),
      (["compact", scene.store], "bytes", -1),
    ]
    for (arguments, key, number) in commands {
      let outcome = try Tool.run(arguments + ["--json"], in: scene.directory.path)
      if key.isEmpty {
        expect(outcome.status == 1 && outcome.output.isEmpty && !outcome.errors.isEmpty)
        continue
      }
      expectEqual(outcome.status, 0, "\(arguments): \(outcome.errors)")
      expectEqual(outcome.output.split(separator: "\n").count, 1, "\(arguments): \(outcome.output)")
      let found = try #require(try object(outcome)[key] as? Int, "\(arguments): \(outcome.output)")
      if number >= 0 { expectEqual(found, number, "\(arguments)") } else { expect(found > 0) }
    }
    #expect(try object(scene.run("verify", scene.store, "--json"))["isIntact"] as? Bool == true)
    let whole = try object(scene.run("inspect", scene.store, "--json"))
    let collections = whole["collections"] as? [[String: Any]] ?? []
    let things = try #require(collections.first { $0["name"] as? String == "things" })
    #expect(things["documents"] as? Int == 200 && (things["digest"] as? String)?.count == 16)
    let one = try object(scene.run("inspect", scene.store, "things", "d7", "--json"))
    #expect((one["fields"] as? [String: String])?["note"]?.contains("number 7") == true)
    #expect(one["isAlive"] as? Bool == true)
    let evicted = try object(scene.run("evict", scene.store, "things", "d7", "--json"))
    #expect(evicted["_id"] as? String == "d7")
  }

  @Test func `damage is in the JSON and in the status`() throws {
    try damage("the number 123 in it")
    let verified = try scene.run("verify", scene.store, "--json")
    #expect(verified.status == 3)
    let report = try object(verified)
    #expect(report["isIntact"] as? Bool == false && report["damageCount"] as? Int == 1)
    #expect((report["damages"] as? [String])?.first?.contains("collection things") == true)
    #expect(report["unreadDocuments"] as? Int == 1 && report["unreadPages"] as? Int == 0)
    let inspected = try scene.run("inspect", scene.store, "things", "--json")
    #expect(inspected.status == 1 && inspected.errors.contains("is damaged"))
    let rescued = try object(scene.run("rescue", scene.store, scene.directory.file("rescued"), "--json"))
    #expect((rescued["damage"] as? [String: Any])?["damageCount"] as? Int == 1)
  }

  #if TLS
    @Test func `keys and certificates are printed as JSON too`() throws {
      let key = try object(scene.run("key", "--json"))
      #expect((key["key"] as? String)?.isEmpty == false)
      let keyFile = scene.directory.file("key.txt")
      #expect(try object(scene.run("key", "--out", keyFile, "--json"))["file"] as? String == keyFile)
      let device = try #require(
        try object(scene.run("key", "show", scene.store, "--json"))["deviceKey"] as? String)
      let authority = scene.directory.file("authority.pem")
      let made = try object(scene.run("ca", "make", "--app", "tests", "--out", authority, "--json"))
      #expect(made["application"] as? String == "tests" && made["validUntil"] != nil)
      let shown = try object(scene.run("ca", "show", authority, "--json"))
      #expect((shown["certificate"] as? String)?.contains("CERTIFICATE") == true)
      // All times that programs print have one form.
      let time = try #require(made["validUntil"] as? String)
      #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil, "\(time)")
      let file = scene.directory.file("ann.pem")
      let issued = try object(
        scene.run(
          "cert", "issue", "--ca", authority, "--key", device, "--user", "ann", "--out", file, "--json"))
      #expect(issued["user"] as? String == "ann" && issued["file"] as? String == file)
      let read = try object(scene.run("cert", "show", file, "--json"))
      #expect(read["deviceKey"] as? String == device && read["application"] as? String == "tests")
      #expect(read["kind"] as? String == "small")
      let renewed = try object(scene.run("cert", "renew", "--ca", authority, file, "--json"))
      #expect((renewed["certificate"] as? String)?.contains("CERTIFICATE") == true)
    }
  #endif

  /// Each status of the table in the documentation, and a command that ends with it.
  @Test func `the status says how a command ended, as the page has it`() throws {
    let page = try String(
      contentsOf: Self.package.appendingPathComponent("Documentation/CommandLine.md"), encoding: .utf8)
    let (lines, copy) = (scene.directory.file("lines.jsonl"), scene.directory.file("copy"))
    try Data("{}\nx\n".utf8).write(to: URL(fileURLWithPath: lines))
    let commands: [(Int32, [String])] = [
      (0, ["stats", scene.store]), (1, ["stats", scene.directory.file("nothing")]),
      (1, ["query", scene.store, "SELECT"]),
      (4, ["import", copy, "things", lines, "--skip-bad"]), (64, ["stats"]), (64, ["no-such-command"]),
      (1, ["import", copy, "others", lines]),
      (1, ["peers", "--connect", "127.0.0.1:1", "--time", "0.2", "--app", "nobody"]),
    ]
    for (status, arguments) in commands {
      try expectEqual(Tool.run(arguments, in: scene.directory.path).status, status, "\(arguments)")
      expect(page.contains("\n| \(status) |"), "the page has no status \(status)")
    }
    try damage("the number 123 in it")
    #expect(try scene.run("verify", scene.store).status == 3 && page.contains("\n| 3 |"))
    #expect(page.contains("\n| 128 and a number |"))
  }

  /// The package that these tests belong to.
  private static var package: URL {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
  }

  @Test func `the version says what the program was built with`() throws {
    let outcome = try scene.run("--version")
    #expect(outcome.status == 0)
    #expect(outcome.output.hasPrefix("dunlin \(Dunlin.version)\nSwift 6."))
    #expect(outcome.output.contains(" build, ") && outcome.output.contains("zlib 1."))
  }

  @Test(arguments: [
    (["dunlin", "import", ""], 2, ["store", "other folder"]),
    (["dunlin", "import", "oth"], 2, ["other folder"]),
    (["dunlin", "import", "store", "things", "fl"], 4, ["flights.csv", "flights.jsonl"]),
    (["dunlin", "backup", "store", "other"], 3, ["other folder"]),
    (
      ["dunlin", "import", "store", "things", "flights.jsonl", "--bad-lines", "flights.c"], 6, ["flights.csv"]
    ),
    (["dunlin", "comp"], 1, ["compact"]),
  ])
  func `bash completes paths as they are`(words: [String], index: Int, expected: [String]) throws {
    let folder = scene.directory.file("completed")
    for name in ["store", "other folder"] {
      try FileManager.default.createDirectory(
        atPath: folder + "/" + name, withIntermediateDirectories: true)
    }
    for name in ["flights.csv", "flights.jsonl"] {
      try Data().write(to: URL(fileURLWithPath: folder + "/" + name))
    }
    let script = try scene.run("--generate-completion-script", "bash")
    #expect(script.status == 0)
    let file = try scene.file("completion.bash", script.output)
    let quoted = words.map { "'\($0)'" }.joined(separator: " ")
    let program = """
      source '\(file)'
      cd '\(folder)'
      COMP_WORDS=(\(quoted)); COMP_CWORD=\(index); COMP_LINE="${COMP_WORDS[*]}"; COMP_POINT=${#COMP_LINE}
      _dunlin dunlin "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
      printf '%s\\n' "${COMPREPLY[@]}"
      """
    let bash = Process()
    bash.executableURL = URL(fileURLWithPath: "/bin/bash")
    bash.arguments = ["-c", program]
    let output = Pipe()
    bash.standardOutput = output
    try bash.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    bash.waitUntilExit()
    #expect(Set(text.split(separator: "\n").map(String.init)) == Set(expected), "\(text)")
    for shell in ["zsh", "fish"] {
      try expect(scene.run("--generate-completion-script", shell).output.contains("dunlin"))
    }
  }

  @Test(arguments: [
    (["TERM": "xterm"], false), (["TERM": "xterm", "NO_COLOR": "1"], false), (["TERM": "dumb"], false),
  ])
  func `there is no colour where there is no terminal`(environment: [String: String], isColored: Bool) {
    #expect(Style(of: -1, environment: environment).isColored == isColored)
    #expect(Style(of: -1, environment: environment)(.red, "x") == "x")
  }

  @Test func `paragraphs break between words, and keep runs of spaces that fit`() {
    let text = Paragraph.text(
      "bags 7       a counter " + String(repeating: "word ", count: 20), indent: 5, hanging: 2)
    let lines = text.split(separator: "\n")
    #expect(lines[0].hasPrefix("     bags 7       a counter word") && lines.count == 2)
    #expect(lines.allSatisfy { $0.count <= 80 } && lines[1].hasPrefix("       word"))
    #expect(Paragraph.text("  indented", indent: 2) == "    indented")
    #expect(Paragraph.text(String(repeating: "x", count: 100), indent: 2).count == 102)
  }
}
