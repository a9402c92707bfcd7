#if TLS
  import DunlinKit
  import Foundation
  import TestKit
  import Testing

  /// `dunlin ca revoke`, and how a list gets to a peer.
  @Suite(.timeLimit(.minutes(15))) struct RevokeCommandTests {
    let directory: TemporaryDirectory

    init() throws {
      directory = try TemporaryDirectory()
      expectEqual(try run("ca", "make", "--app", "garage", "--out", directory.file("ca.pem")).status, 0)
    }

    private func run(_ arguments: String...) throws -> Tool.Outcome {
      try Tool.run(arguments, in: directory.path)
    }

    private func key(_ name: String) throws -> String {
      try run("key", "show", directory.file(name)).output.trimmingCharacters(in: .newlines)
    }

    @Test func `a list is made, added to, and printed`() throws {
      let (ca, list) = (directory.file("ca.pem"), directory.file("revoked.list"))
      let certificate = directory.file("bob.pem")
      #expect(
        try run("cert", "issue", "--ca", ca, "--key", key("bob"), "--user", "bob", "--out", certificate)
          .status
          == 0)
      let empty = try run("ca", "revoke", ca, "--list", list)
      #expect(empty.status == 0, "\(empty)")
      #expect(empty.output.contains("list 1 of the authority") && empty.output.contains("entries: 0"))
      let made = try run(
        "ca", "revoke", ca, "--list", list, "--key", try key("ann"), "--certificate", certificate,
        "--serial", "0a0b", "--user", "cid", "--issued-before", "2026-11-30T12:00:00Z", "--json")
      #expect(made.status == 0, "\(made)")
      #expect(made.output.contains("\"number\":2") && made.output.contains("\"entries\":4"))
      let again = try run("ca", "revoke", ca, "--list", list, "--key", try key("ann"))
      #expect(again.output.contains("list 2 of") && again.output.contains("entries: 4"), "\(again)")
      let shown = try run("ca", "revocations", list)
      for part in [
        "number     2", "entries    4", "device key \(try key("ann"))", "certificate 0a0b of the authority",
        "certificates of the user cid from before 2026-11-30T12:00:00.000Z",
      ] {
        expect(shown.output.contains(part), "\(shown)")
      }
      #expect(try run("ca", "revocations", list, "--json").output.contains("\"entries\":4"))
    }

    @Test func `what is wrong is named, and the list stays`() throws {
      let (ca, list) = (directory.file("ca.pem"), directory.file("revoked.list"))
      #expect(try run("ca", "revoke", ca, "--list", list, "--key", try key("ann")).status == 0)
      let before = try Data(contentsOf: URL(filePath: list))
      let other = directory.file("other.pem")
      #expect(try run("ca", "intermediate", "--ca", ca, "--out", other).status == 0)
      for (arguments, part) in [
        (["ca", "revoke", ca, "--list", list, "--key", "12"], "hexadecimal"),
        (["ca", "revoke", other, "--list", list, "--user", "ann"], "is one of the authority"),
        (["ca", "revoke", ca, "--list", ca, "--user", "ann"], "no file with a revocation list"),
        (["ca", "revoke", ca, "--list", list, "--certificate", ca + ".missing"], "ca.pem.missing"),
        (["ca", "revoke", ca, "--list", list, "--issued-before", "2026-11-30T12:00:00Z"], "--user"),
        (
          ["ca", "revoke", ca, "--list", list, "--user", "ann", "--issued-before", "yesterday"],
          "issued-before"
        ),
        (["ca", "revoke", ca, "--list", directory.file("no/folder/x")], "no/folder/x"),
        (["ca", "revocations", directory.file("nothing")], "nothing"),
      ] {
        let outcome = try Tool.run(arguments, in: directory.path)
        expect(outcome.status != 0, "\(arguments)")
        expect(outcome.errors.contains(part), "\(arguments): \(outcome.errors)")
      }
      #expect(try Data(contentsOf: URL(filePath: list)) == before)
    }

    @Test func `a served store takes a list at its start, and tells its neighbours`() async throws {
      let (ca, list) = (directory.file("ca.pem"), directory.file("revoked.list"))
      #expect(try run("ca", "revoke", ca, "--list", list, "--user", "eve").status == 0)
      let authority = directory.file("authority.pem")
      try Data(try run("ca", "show", ca).output.utf8).write(to: URL(filePath: authority))
      let certificate = directory.file("served.pem")
      #expect(
        try run("cert", "issue", "--ca", ca, "--key", key("served"), "--user", "ann", "--out", certificate)
          .status == 0)
      let hubs = try run("cert", "issue", "--ca", ca, "--key", key("hub"), "--user", "hub").output
      let hub = try Dunlin(
        path: directory.file("hub"),
        identity: .certificate(
          appID: "garage", authority: try String(contentsOfFile: authority, encoding: .utf8),
          certificate: hubs))
      try hub.listen()
      try hub.startSync()
      let port = try #require(hub.listeningPorts.first)
      let server = Tool.process([
        "serve", directory.file("served"), "--app", "garage", "--certificate", certificate, "--authority",
        authority, "--revocations", list, "--connect", "127.0.0.1:\(port)",
      ])
      server.standardOutput = FileHandle.nullDevice
      try server.run()
      while hub.revocations.lists.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
      #expect(hub.revocations.lists.map(\.entryCount) == [1])
      server.terminate()
      server.waitUntilExit()
      try hub.close()
    }
  }
#endif
