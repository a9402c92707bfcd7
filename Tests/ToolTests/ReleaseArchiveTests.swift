#if os(Linux)
  import Foundation
  import TestKit
  import Testing

  /// `Tools/release`, with small programs in place of those that it packs.
  @Suite(.enabled(if: CCompiler.isPresent, "there is no C compiler"))
  struct ReleaseArchiveTests {
    private let directory: TemporaryDirectory
    private var programs: String { directory.file("programs") }
    private var archives: String { directory.file("archives") }

    init() throws {
      directory = try TemporaryDirectory()
      try FileManager.default.createDirectory(
        atPath: directory.file("programs/dunlin_dunlin.resources"), withIntermediateDirectories: true)
      try Data("a sample".utf8).write(
        to: URL(fileURLWithPath: directory.file("programs/dunlin_dunlin.resources/sample")))
      try makeProgram("dunlin", printing: "dunlin 9.8.7\\nof a test")
      try makeProgram("bigpeer", printing: "bigpeer 9.8.7")
    }

    private func makeProgram(_ name: String, printing text: String) throws {
      let source = directory.file(name + ".c")
      let code = "#include <stdio.h>\nint main(void) { return puts(\"\(text)\") < 0; }\n"
      try Data(code.utf8).write(to: URL(fileURLWithPath: source))
      try CCompiler.compile(["-g", "-o", programs + "/" + name, source])
    }

    private func run(_ command: String, _ arguments: [String], in folder: String? = nil) throws -> (
      status: Int32, text: String
    ) {
      let (process, output) = (Process(), Pipe())
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = [command] + arguments
      process.currentDirectoryURL = URL(fileURLWithPath: folder ?? directory.path)
      process.standardOutput = output
      process.standardError = output
      try process.run()
      let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      return (process.terminationStatus, text)
    }

    @Test func `an archive has the program, what it needs, and a checksum`() throws {
      for _ in 0..<2 {
        let made = try run(Self.script, ["--programs", programs, "--output", archives])
        expect(made.status == 0, "\(made)")
      }
      let names = try FileManager.default.contentsOfDirectory(atPath: archives).sorted()
      #expect(names.count == 3 && names[0] == "SHA256SUMS", "\(names)")
      #expect(
        names[1].hasPrefix("bigpeer-9.8.7-linux-") && names[2].hasPrefix("dunlin-9.8.7-linux-"), "\(names)")
      let checked = try run("sha256sum", ["-c", "SHA256SUMS"], in: archives)
      #expect(checked.status == 0, "\(checked)")

      let unpacked = try run("tar", ["-xzf", names[2]], in: archives)
      #expect(unpacked.status == 0, "\(unpacked)")
      let folder = archives + "/" + names[2].dropLast(".tar.gz".count)
      let contents = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
      #expect(contents == ["LICENSE", "REQUIREMENTS.txt", "dunlin", "dunlin_dunlin.resources"])
      let server = archives + "/" + names[1].dropLast(".tar.gz".count)
      #expect(try run("tar", ["-xzf", names[1]], in: archives).status == 0)
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: server).sorted()
          == ["Containerfile", "LICENSE", "REQUIREMENTS.txt", "bigpeer", "bigpeer.service"])
      let said = try run(folder + "/dunlin", [])
      #expect(said.text == "dunlin 9.8.7\nof a test\n")
      let requirements = try String(contentsOfFile: folder + "/REQUIREMENTS.txt", encoding: .utf8)
      #expect(requirements.hasPrefix("dunlin 9.8.7 needs at run time:\n"), "\(requirements)")
      #expect(requirements.contains("- libc.so.6 (the system's C library)"), "\(requirements)")
      #expect(requirements.contains("    of a test\n"), "\(requirements)")
      func byteCount(_ path: String) throws -> Int { try Data(contentsOf: URL(fileURLWithPath: path)).count }
      #expect(try byteCount(folder + "/dunlin") < byteCount(programs + "/dunlin"))
    }

    @Test func `mistakes are named, and leave no archive`() throws {
      try makeProgram("bigpeer", printing: "bigpeer 9.8.7 A check fired")
      let mistakes = [
        (["--programs"], "--programs needs a folder"),
        (["--output", ""], "--output needs a folder"),
        (["--nothing"], "There is no program and no option --nothing"),
        (["--programs", directory.file("nowhere")], "There is no folder"),
        (["--programs", directory.path, "--output", archives, "dunlin"], "There is no program dunlin in"),
        (["--programs", programs, "--output", archives], "contains planted defects"),
      ]
      for (arguments, message) in mistakes {
        let refused = try run(Self.script, arguments)
        expect(refused.status == 1 && refused.text.contains(message), "\(arguments): \(refused)")
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: archives).isEmpty)
      let help = try run(Self.script, ["--help"])
      #expect(help.status == 0 && help.text.contains("--programs FOLDER"), "\(help)")
    }

    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Tools/release").path
  }
#endif
