#if TLS
  import DunlinKit
  import Foundation
  import Links
  import LoginKit
  import TestKit
  import Testing

  /// The login service of `Documentation/Security.md`, in another language and with other libraries.
  @Suite(.timeLimit(.minutes(15))) struct LoginServiceExampleTests {
    private static let page = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Documentation/Security.md").standardized

    /// Whether Python is here, with what the service imports.
    private static let hasPython: Bool = {
      let process = Process()
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments = ["python3", "-c", "import cryptography"]
      (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
      guard (try? process.run()) != nil else { return false }
      process.waitUntilExit()
      return process.terminationStatus == 0
    }()

    /// The one program of the page.
    private func program() throws -> String {
      let text = try String(contentsOf: Self.page, encoding: .utf8)
      let parts = text.components(separatedBy: "```python\n")
      try #require(parts.count == 2)
      return try #require(parts[1].components(separatedBy: "```").first)
    }

    @Test(.enabled(if: hasPython, "skipped: there is no python3 with cryptography"))
    func `a device logs in at the service that the page shows, and is refused without a token`() async throws
    {
      let directory = try TemporaryDirectory()
      let web = try WebAuthority()
      let (certificate, key) = try web.issue()
      try Data((certificate + key).utf8).write(to: URL(filePath: directory.file("web.pem")))
      try Data(web.certificate.utf8).write(to: URL(filePath: directory.file("roots.pem")))
      try Data(try program().utf8).write(to: URL(filePath: directory.file("login.py")))
      let authority = try DunlinAuthority(
        appID: "garage", validity: Date(timeIntervalSinceNow: -7_200)..<Date(timeIntervalSinceNow: 864_000))
      try Data(try authority.text.utf8).write(to: URL(filePath: directory.file("ca.pem")))
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o600], ofItemAtPath: directory.file("ca.pem"))
      // A port that is free now, and most probably a moment later.
      let trial = try await TCPListener.bind()
      await trial.close()
      let url = "https://localhost:\(trial.port)/garage"

      let service = Process()
      service.executableURL = URL(filePath: "/usr/bin/env")
      service.arguments = [
        "python3", directory.file("login.py"), url, directory.file("ca.pem"), directory.file("web.pem"),
      ]
      let tools = URL(filePath: Tool.path).deletingLastPathComponent().path
      service.environment = ProcessInfo.processInfo.environment.merging(
        ["PATH": "\(tools):" + (ProcessInfo.processInfo.environment["PATH"] ?? "")]) { $1 }
      (service.standardOutput, service.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
      try service.run()
      // It inherits that signals are blocked in the thread that runs this test.
      defer { kill(service.processIdentifier, SIGKILL) }

      var configuration = DunlinConfiguration()
      configuration.webAuthority = directory.file("roots.pem")
      let dunlin = try Dunlin(
        path: directory.file("db"),
        identity: .online(appID: "garage", url: url, authority: try authority.certificate) { _ in },
        configuration: configuration)
      let auth = try #require(dunlin.auth)
      // It listens a moment later.
      while true {
        do {
          try await auth.login(token: "ann's token", provider: "garage")
          break
        } catch let error as DunlinError where error.code == .unreachable {
          try await Task.sleep(for: .milliseconds(20))
        }
      }
      #expect(auth.status.userID == "ann")
      let error = await #expect(throws: DunlinError.self) {
        try await auth.login(token: "nobody's token", provider: "garage")
      }
      #expect(error?.code == .authentication)
      #expect(auth.status.userID == "ann")
      try dunlin.close()
    }
  }
#endif
