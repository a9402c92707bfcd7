#if os(Linux)
  import Foundation
  import TestKit
  import Testing

  /// The unit of systemd and the recipe of the image, which release archives of the server carry.
  @Suite struct PackagingTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Tools/bigpeer")

    private static func text(_ name: String) throws -> String {
      try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
    }

    private static let analyzer = "/usr/bin/systemd-analyze"
    private static let isAnalyzerPresent = FileManager.default.isExecutableFile(atPath: analyzer)

    private func analyze(_ arguments: [String]) throws -> (status: Int32, text: String) {
      let (process, output) = (Process(), Pipe())
      process.executableURL = URL(fileURLWithPath: Self.analyzer)
      process.arguments = arguments
      process.standardOutput = output
      process.standardError = output
      try process.run()
      let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      return (process.terminationStatus, text)
    }

    /// The unit with a program that every system has.
    private func unit() throws -> String {
      let path = directory.file("bigpeer.service")
      let text = try Self.text("bigpeer.service").replacingOccurrences(
        of: "/usr/local/bin/bigpeer run", with: "/bin/true")
      try text.write(toFile: path, atomically: true, encoding: .utf8)
      return path
    }

    @Test(.enabled(if: isAnalyzerPresent, "there is no systemd here"))
    func `systemd takes every line of the unit, and counts it as confined`() throws {
      let verified = try analyze(["verify", "--man=no", try unit()])
      #expect(verified.status == 0 && verified.text.isEmpty, "\(verified)")
      // Exposure in tenths, of 100.
      let secure = try analyze(["security", "--offline=true", "--threshold=20", "--no-pager", try unit()])
      #expect(secure.status == 0, "\(secure)")
    }

    @Test(arguments: [
      "ExecStart=/usr/local/bin/bigpeer run", "ExecReload=/bin/kill -HUP $MAINPID", "DynamicUser=yes",
      "StateDirectory=bigpeer bigpeer-backups", "ProtectSystem=strict", "NoNewPrivileges=yes",
      "SystemCallFilter=@system-service", "Restart=on-failure", "RestartPreventExitStatus=78",
      "LimitNOFILE=65536", "WantedBy=multi-user.target",
    ])
    func `the unit has the line`(line: String) throws {
      let lines = try Self.text("bigpeer.service").components(separatedBy: "\n")
      #expect(lines.contains(line))
    }

    @Test
    func
      `the image runs as a user without rights, from a distribution's libraries, and is asked for its health`()
      throws
    {
      let lines = try Self.text("Containerfile").components(separatedBy: "\n")
      func has(_ line: String) -> Bool { lines.contains(line) }
      #expect(has("ARG BASE=docker.io/library/debian:12-slim"))
      #expect(has("USER 10001:10001"))
      #expect(has("VOLUME /var/lib/bigpeer"))
      #expect(has("ENTRYPOINT [\"/usr/bin/bigpeer\"]"))
      #expect(
        lines.contains {
          $0.hasPrefix("HEALTHCHECK ") && $0.hasSuffix("CMD [\"/usr/bin/bigpeer\", \"health\"]")
        })
      // The last stage has what is copied into it, and no system of its own.
      #expect(lines.last { $0.hasPrefix("FROM ") } == "FROM scratch")
    }
  }
#endif
