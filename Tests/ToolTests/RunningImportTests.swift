import CRDTCore
import Foundation
import TestKit
import Testing

/// `dunlin import` into a store that a running peer has open.
@Suite(.timeLimit(.minutes(15))) struct RunningImportTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func file(_ name: String, _ text: String) throws -> String {
    try Array(text.utf8).write(to: directory.file(name))
    return directory.file(name)
  }

  private func number(_ served: ServedStore) throws -> String {
    try served.run("query", served.store, "SELECT COUNT(*) AS n FROM things").output
  }

  @Test func `each format goes in as into a closed store, and what stands there obeys the strategy`()
    async throws
  {
    let served = try await ServedStore(directory)
    let texts = [
      ("a.jsonl", "{\"_id\":1,\"n\":1}\n{\"_id\":2,\"n\":1}\n"), ("b.json", "[{\"_id\":3,\"n\":1}]"),
      ("c.csv", "_id,n\n4,1\n5,1\n"), ("d.tsv", "_id\tn\n6\t1\n"),
    ]
    for (name, text) in texts {
      let imported = try served.run("import", served.store, "things", file(name, text))
      expect(imported.status == 0 && imported.output.contains("imported"), "\(imported.errors)")
    }
    #expect(try number(served) == "{\"n\":6}\n")
    let ids = try served.run("query", served.store, "SELECT _id FROM things WHERE n = 1 ORDER BY _id").output
    #expect(ids.split(separator: "\n").count == 6)
    // As without a peer, what stands there already is merged.
    let again = try file("again.jsonl", "{\"_id\":7,\"n\":1}\n{\"_id\":1,\"m\":9}\n")
    #expect(try served.run("import", served.store, "things", again).status == 0)
    let merged = try served.run("query", served.store, "SELECT * FROM things WHERE _id = 1").output
    #expect(merged == "{\"_id\":1,\"m\":9,\"n\":1}\n")
    let initial = try file("initial.jsonl", "{\"_id\":8,\"n\":1}\n{\"_id\":1,\"n\":0}\n")
    #expect(try served.run("import", served.store, "things", initial, "--initial").status == 0)
    #expect(try served.run("query", served.store, "SELECT * FROM things WHERE _id = 1").output == merged)
    #expect(try number(served) == "{\"n\":8}\n")
  }

  @Test func `what is bad is told by its line, left out when asked, and never half a batch`() async throws {
    let served = try await ServedStore(directory)
    let wide = "{\"_id\":3,\"m\":{\((0...10_000).map { "\"k\($0)\":0" }.joined(separator: ","))}}"
    let text = "{\"_id\":1}\n{\"_id\":2,\n\(wide)\n{\"_id\":4}\n[5]\n"
    let refused = try served.run("import", served.store, "things", file("bad.jsonl", text))
    #expect(refused.status == 1 && refused.errors.contains("bad.jsonl, line 2: "), "\(refused.errors)")
    let skipped = try served.run(
      "import", served.store, "others", file("bad2.jsonl", text), "--skip-bad")
    #expect(skipped.status == 4, "\(skipped.errors)")
    for line in [2, 3, 5] { expect(skipped.errors.contains("bad2.jsonl, line \(line): ")) }
    let rows = try served.run("query", served.store, "SELECT _id FROM others ORDER BY _id").output
    #expect(rows == "{\"_id\":1}\n{\"_id\":4}\n")
  }

  @Test func `when the peer ends in the middle, what is stored is told, and the import goes on behind it`()
    async throws
  {
    let count = 4_000
    let text = (0..<count).map { "{\"n\":\($0)}\n" }.joined()
    let served = try await ServedStore(directory)
    // A pipe that gives half of the text and then waits: the peer is gone before the rest comes.
    let path = directory.file("half.jsonl")
    try #require(mkfifo(path, 0o600) == 0)
    let process = Tool.process(["import", served.store, "things", path, "--batch", "100"])
    let errors = directory.file("import-errors")
    try [UInt8]().write(to: errors)
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle(forWritingAtPath: errors)
    try process.run()
    let (half, rest, go) = (directory.file("half"), directory.file("rest"), directory.file("go"))
    try Array(text.utf8.prefix(text.utf8.count / 2)).write(to: half)
    try Array(text.utf8.dropFirst(text.utf8.count / 2)).write(to: rest)
    let feeder = Process()
    feeder.executableURL = URL(fileURLWithPath: "/bin/sh")
    feeder.arguments = [
      "-c",
      "exec 3> '\(path)'; cat '\(half)' >&3; while ! [ -e '\(go)' ]; do sleep 0.05; done; cat '\(rest)' >&3",
    ]
    try feeder.run()
    defer { feeder.end() }
    while try ["", "{\"n\":0}\n"].contains(number(served)) { await pause() }
    await served.stop()
    try [UInt8]().write(to: go)
    while process.isRunning { await pause() }
    let told = try String(contentsOfFile: errors, encoding: .utf8)
    #expect(process.terminationStatus == 1 && told.contains("--resume"), "\(told)")
    unlink(path)
    try Array(text.utf8).write(to: path)
    let resumed = try served.run("import", served.store, "things", path, "--batch", "100", "--resume")
    #expect(resumed.status == 0, "\(resumed.errors)")
    #expect(try number(served) == "{\"n\":\(count)}\n")
    let distinct = try served.run("query", served.store, "SELECT COUNT(DISTINCT n) AS n FROM things")
    #expect(distinct.output == "{\"n\":\(count)}\n", "\(distinct.errors)")
  }
}
