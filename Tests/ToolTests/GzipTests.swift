import Foundation
import TestKit
import Testing

/// Gzip files as other programs write them.
@Suite struct GzipTests {
  let directory: TemporaryDirectory
  var store: String { directory.file("store") }

  init() throws { directory = try TemporaryDirectory() }

  private func run(_ arguments: String..., input: String = "") throws -> Tool.Outcome {
    try Tool.run(arguments, in: directory.path, input: input)
  }

  /// Lines of JSON that take exactly so many bytes.
  private func lines(_ byteCount: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    var number = 0
    while bytes.count < byteCount {
      let head = "{\"_id\":\(number),\"t\":\""
      let (left, frame) = (byteCount - bytes.count, head.utf8.count + 3)
      let text = left < 2 * 1_000 + frame ? left - frame : 1_000
      bytes += Array(head.utf8) + repeatElement(UInt8(ascii: "x"), count: text) + Array("\"}\n".utf8)
      number += 1
    }
    return bytes
  }

  private func gzip(_ bytes: [UInt8], level: Int = 6) throws -> Data {
    let (plain, packed) = (directory.file("plain"), directory.file("packed"))
    try Data(bytes).write(to: URL(fileURLWithPath: plain))
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", "gzip -\(level) -c '\(plain)' > '\(packed)'"]
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return try Data(contentsOf: URL(fileURLWithPath: packed))
  }

  private func imported(_ data: Data) throws -> (outcome: Tool.Outcome, count: String) {
    let file = directory.file("lines.gz")
    try data.write(to: URL(fileURLWithPath: file))
    let outcome = try run("import", store, "things", file)
    let count = outcome.status == 0 ? try run("query", store, "SELECT COUNT(*) AS n FROM things").output : ""
    return (outcome, count)
  }

  private func count(_ bytes: [UInt8]) -> String { "{\"n\":\(bytes.count { $0 == 0x0A })}\n" }

  @Test(arguments: [262_143, 262_144, 262_145, 524_288, 1_048_576])
  func `any unpacked size is read`(byteCount: Int) throws {
    let bytes = lines(byteCount)
    #expect(bytes.count == byteCount)
    let (outcome, n) = try imported(gzip(bytes))
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(n == count(bytes))
  }

  @Test func `an export whose size is a multiple of the piece is read back`() throws {
    let bytes = lines(262_144)
    #expect(
      try run("import", store, "things", "-", input: String(decoding: bytes, as: UTF8.self)).status == 0)
    let file = directory.file("own.jsonl.gz")
    #expect(try run("export", store, "things", file).status == 0)
    let again = try run("import", directory.file("again"), "things", file)
    #expect(again.status == 0, "\(again.errors)")
  }

  @Test(arguments: [1, 511, 262_144, 300_000])
  func `zeros after a member are padding`(padding: Int) throws {
    let bytes = lines(10_000)
    let (outcome, n) = try imported(gzip(bytes) + Data(repeating: 0, count: padding))
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(n == count(bytes))
  }

  @Test func `members that follow one another are one stream`() throws {
    let bytes = lines(300_000)
    let parts = [0..<1, 1..<100_001, 100_001..<262_145, 262_145..<300_000, 300_000..<300_000].map {
      Array(bytes[$0])
    }
    let data = try parts.reduce(Data()) { try $0 + gzip($1) }
    let (outcome, n) = try imported(data)
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(n == count(bytes))
  }

  @Test(arguments: [1, 4, 8, 9, 100])
  func `what ends early is an error that says so`(missing: Int) throws {
    let data = try gzip(lines(262_144))
    let (outcome, _) = try imported(data.dropLast(missing))
    #expect(outcome.status == 1)
    #expect(outcome.errors.contains("lines.gz: the gzip data end early"))
  }

  @Test func `what follows a member and is neither a member nor zeros is an error`() throws {
    let (outcome, _) = try imported(gzip(lines(1_000)) + Data("garbage that is no gzip".utf8))
    #expect(outcome.status == 1)
    #expect(outcome.errors.contains("lines.gz: the gzip data are damaged"))
  }
}
