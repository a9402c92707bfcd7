import CRDTCore
import Foundation
import TestKit
import Testing

/// Imports that are stopped, and go on: every document is there once.
@Suite(.timeLimit(.minutes(15))) struct ResumeTests {
  let scene: FileScene
  private static let count = 20_000

  init() throws { scene = try FileScene() }

  /// Documents without an id, so that one that is written twice would be there twice.
  private func lines() -> String { (0..<Self.count).map { "{\"n\":\($0),\"t\":\"text\"}\n" }.joined() }

  private func csv() -> String {
    "n,t\n" + (0..<Self.count).map { "\($0),\"text\nof two lines\"\n" }.joined()
  }

  /// Starts an import from a pipe, and ends it by a signal once it has begun to write.
  ///
  /// The pipe delivers the first half of a text and then waits. Afterwards the complete file is there.
  private func interrupt(_ text: String, _ name: String, _ options: [String], with signal: Int32) async throws
    -> (status: Int32, errors: String)
  {
    let (file, half) = (scene.directory.file(name), scene.directory.file("half"))
    try Array(text.utf8.prefix(text.utf8.count / 2)).write(to: half)
    unlink(file)
    try #require(mkfifo(file, 0o600) == 0)
    let feeder = Process()
    feeder.executableURL = URL(fileURLWithPath: "/bin/sh")
    feeder.arguments = ["-c", "exec 3> '\(file)'; cat '\(half)' >&3; exec sleep 600"]
    try feeder.run()
    defer { feeder.end() }
    let process = Tool.process(["import", scene.store, "things", file] + options)
    let errors = scene.directory.file("import-errors")
    try [UInt8]().write(to: errors)
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle(forWritingAtPath: errors)
    try process.run()
    // Some batches are to be there already.
    while try scene.states().isEmpty || dataBytes() < 300_000, process.isRunning { await pause() }
    if signal == SIGKILL { try await Task.sleep(for: .milliseconds(200)) }
    kill(process.processIdentifier, signal)
    while process.isRunning { await pause() }
    unlink(file)
    try Array(text.utf8).write(to: file)
    return (process.terminationStatus, try String(contentsOfFile: errors, encoding: .utf8))
  }

  private func dataBytes() -> Int {
    let attributes = try? FileManager.default.attributesOfItem(atPath: scene.store + "/data.mdb")
    return attributes?[.size] as? Int ?? 0
  }

  private func number() throws -> Int {
    let row = try scene.query("SELECT COUNT(*) AS n FROM things")
    return try #require(row.firstMatch(of: /\d+/).flatMap { Int($0.0) })
  }

  private func expectAllOnce() throws {
    #expect(try number() == Self.count)
    let found = Set(try scene.contents().values.compactMap(\.["n"]))
    #expect(found.count == Self.count)
    #expect(try scene.states().isEmpty)
  }

  @Test(arguments: ["a.jsonl", "a.csv"], [SIGINT, SIGTERM])
  func `interrupted, it says what is stored, and goes on there`(name: String, signal: Int32) async throws {
    let file = scene.directory.file(name)
    let text = name.hasSuffix("csv") ? csv() : lines()
    let (status, errors) = try await interrupt(text, name, ["--batch", "50"], with: signal)
    #expect(status == 128 + signal, "\(errors)")
    let told = try #require(
      errors.firstMatch(of: /Stopped: ([\d,]+) documents of .* are stored/), "\(errors)")
    let stored = try #require(Int(told.1.replacing(",", with: "")))
    #expect(stored > 0 && stored < Self.count && stored % 50 == 0)
    #expect(try number() == stored)
    #expect(errors.contains("--resume"))
    #expect(try scene.states().count == 1)
    // By itself it does not begin again.
    let refused = try scene.run("import", scene.store, "things", file)
    #expect(refused.status == 1 && refused.errors.contains("was stopped after \(told.1) documents"))
    #expect(refused.errors.contains("--resume") && refused.errors.contains("--restart"))
    #expect(try number() == stored)
    let resumed = try scene.run("import", scene.store, "things", file, "--resume", "--json")
    #expect(resumed.status == 0, "\(resumed.errors)")
    let summary = try object(resumed)
    #expect(summary["documents"] as? Int == Self.count - stored)
    #expect(summary["documentsBefore"] as? Int == stored)
    try expectAllOnce()
  }

  @Test func `killed, it goes on too, and again`() async throws {
    let file = scene.directory.file("a.jsonl")
    for _ in 0..<3 {
      _ = try await interrupt(lines(), "a.jsonl", ["--batch", "20", "--resume"], with: SIGKILL)
      try expectEqual(scene.states().count, 1)
    }
    let resumed = try scene.run("import", scene.store, "things", file, "--resume")
    #expect(resumed.status == 0, "\(resumed.errors)")
    try expectAllOnce()
  }

  @Test func `a mistake in the middle is mended, and what is before it not read in again`() throws {
    var all = (0..<300).map { "{\"n\":\($0)}" }
    all[205] = "{\"n\":"
    let file = try scene.file("a.jsonl", all.joined(separator: "\n") + "\n")
    let failed = try scene.run("import", scene.store, "things", file, "--batch", "100")
    #expect(failed.status == 1 && failed.errors.contains("a.jsonl, line 206"), "\(failed.errors)")
    #expect(failed.errors.contains("the 200 documents before it are stored"))
    #expect(failed.errors.contains("--resume"))
    all[205] = "{\"n\":205}"
    _ = try scene.file("a.jsonl", all.joined(separator: "\n") + "\n")
    let resumed = try scene.run("import", scene.store, "things", file, "--resume")
    #expect(resumed.status == 0, "\(resumed.errors)")
    #expect(resumed.output.contains("100 documents imported") && resumed.output.contains("300 with those"))
    #expect(try scene.contents().count == 300 && scene.states().isEmpty)
  }

  @Test func `another file, other options and a shorter file are refused, and a restart begins again`() throws
  {
    let good = (0..<250).map { "{\"_id\":\($0)}\n" }.joined()
    let file = try scene.file("a.jsonl", good + "x\n")
    #expect(try scene.run("import", scene.store, "things", file, "--batch", "100").status == 1)
    let options = try scene.run("import", scene.store, "things", file, "--resume", "--plain")
    #expect(options.status == 1 && options.errors.contains("other options"))
    _ = try scene.file("a.jsonl", good.replacing("{\"_id\":7}", with: "{\"_id\":8}"))
    let changed = try scene.run("import", scene.store, "things", file, "--resume")
    #expect(changed.status == 1 && changed.errors.contains("its first 200 records are not those"))
    _ = try scene.file("a.jsonl", String(good.prefix(100)))
    let short = try scene.run("import", scene.store, "things", file, "--resume")
    #expect(
      short.status == 1 && short.errors.contains("of which 200 are imported already"), "\(short.errors)")
    #expect(try scene.contents().count == 200 && scene.states().count == 1)
    // Of another collection nothing was stopped.
    #expect(try scene.run("import", scene.store, "others", scene.file("a.jsonl", good)).status == 0)
    let restarted = try scene.run("import", scene.store, "things", file, "--restart")
    #expect(restarted.status == 0 && restarted.output.hasPrefix("250 documents"), "\(restarted.errors)")
    #expect(try scene.contents().count == 250 && scene.states().isEmpty)
    // Where nothing was stopped, going on is beginning.
    #expect(
      try scene.run("import", scene.store, "things", file, "--resume").output.hasPrefix("250 documents"))
  }

  @Test func `packed data that end early keep what is before, and go on when they are whole`() throws {
    let text = (0..<30_000).map { "{\"n\":\($0),\"t\":\"\($0 * 7_919 % 10_007)\"}\n" }.joined()
    _ = try scene.file("a.jsonl", text)
    let packed = scene.directory.file("a.jsonl.gz")
    let gzip = Process()
    gzip.executableURL = URL(fileURLWithPath: "/bin/sh")
    gzip.arguments = ["-c", "gzip -c '\(scene.directory.file("a.jsonl"))' > '\(packed)'"]
    try gzip.run()
    gzip.waitUntilExit()
    let whole = try Data(contentsOf: URL(fileURLWithPath: packed))
    try Array(whole.prefix(whole.count / 2)).write(to: packed)
    let failed = try scene.run("import", scene.store, "things", packed)
    #expect(
      failed.status == 1 && failed.errors.contains("a.jsonl.gz: the gzip data end early"), "\(failed.errors)")
    let before = try number()
    #expect(before > 1_000 && before < 20_000 && before % 1_000 == 0)
    try Array(whole).write(to: packed)
    let resumed = try scene.run("import", scene.store, "things", packed, "--resume")
    #expect(resumed.status == 0, "\(resumed.errors)")
    #expect(try number() == 30_000)
  }

  @Test func `a pipe that gives nothing can be interrupted, and gone on with by a state`() async throws {
    let state = scene.directory.file("state.json")
    let process = Tool.process(
      ["import", scene.store, "things", "-", "--batch", "10", "--state", state])
    let (input, errors) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = FileHandle.nullDevice
    process.standardError = errors
    try process.run()
    let all = (0..<95).map { "{\"n\":\($0)}\n" }
    try input.fileHandleForWriting.write(contentsOf: Data(all[..<45].joined().utf8))
    while !FileManager.default.fileExists(atPath: state), process.isRunning { await pause() }
    // The batch that is being written when it is interrupted is written whole.
    kill(process.processIdentifier, SIGINT)
    while process.isRunning { await pause() }
    let told = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    #expect(process.terminationStatus == 130, "\(told)")
    #expect(told.contains("Stopped: "), "\(told)")
    let resumed = try scene.run(
      "import", scene.store, "things", "-", "--state", state, "--resume", input: all.joined())
    #expect(resumed.status == 0, "\(resumed.errors)")
    #expect(try scene.contents().count == 95)
    #expect(!FileManager.default.fileExists(atPath: state))
  }

  @Test func `what was left out before the stop is counted, and its file gone on with`() throws {
    let all = (0..<300).map { $0 % 100 == 50 ? "bad \($0)\n" : "{\"_id\":\($0)}\n" }.joined()
    let file = try scene.file("a.jsonl", all + "worse\n")
    let bad = scene.directory.file("bad")
    let options = ["--skip-bad", "--bad-lines", bad, "--batch", "100", "--resume"]
    let failed = try Tool.run(
      ["import", scene.store, "things", file, "--batch", "30"], in: scene.directory.path)
    #expect(failed.status == 1 && failed.errors.contains("line 51"))
    let outcome = try Tool.run(
      ["import", scene.store, "things", file] + options, in: scene.directory.path)
    #expect(outcome.status == 4, "\(outcome.errors)")
    #expect(try scene.text("bad") == "bad 50\nbad 150\nbad 250\nworse\n")
    #expect(try scene.contents().count == 297)
  }

  #if os(Linux)
    @Test func `memory goes by the batch, and not by the file`() throws {
      let file = scene.directory.file("large.jsonl")
      #expect(FileManager.default.createFile(atPath: file, contents: nil))
      let output = try #require(FileHandle(forWritingAtPath: file))
      let text = String(repeating: "some words ", count: 2_000)
      for first in stride(from: 0, to: 6_000, by: 100) {
        let lines = (first..<first + 100).map { "{\"_id\":\($0),\"t\":\"\(text)\"}\n" }
        try output.write(contentsOf: Data(lines.joined().utf8))
      }
      try output.close()
      let process = Tool.process(["import", scene.store, "things", file])
      (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
      try process.run()
      var most = 0
      while process.isRunning {
        let status =
          (try? String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)) ?? ""
        // What the process has for itself; pages of the store's file are the system's.
        if let kilobytes = status.firstMatch(of: /RssAnon:\s+(\d+) kB/).flatMap({ Int($0.1) }) {
          most = max(most, kilobytes)
        }
        usleep(20_000)
      }
      #expect(process.terminationStatus == 0)
      // The file has 132 MB.
      #expect(most > 0 && most < 110_000, "\(most) kB")
    }
  #endif
}
