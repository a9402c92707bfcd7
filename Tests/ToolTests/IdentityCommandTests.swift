#if TLS
  import DunlinKit
  import Foundation
  import Links
  import LoginKit
  import TestKit
  import Testing

  @Suite(.timeLimit(.minutes(15))) struct IdentityCommandTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func run(_ arguments: String...) throws -> Tool.Outcome {
      try Tool.run(arguments, in: directory.path)
    }

    private func mode(_ path: String) throws -> Int? {
      try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `an authority issues, shows and renews certificates`() throws {
      let (ca, cert, renewed) = (
        directory.file("ca.pem"), directory.file("cert.pem"), directory.file("renewed.pem")
      )
      #expect(try run("ca", "make", "--app", "garage", "--out", ca).status == 0)
      #expect(try mode(ca) == 0o600)
      let shown = try run("ca", "show", ca)
      #expect(shown.output.hasPrefix("-----BEGIN CERTIFICATE-----"))
      #expect(!shown.output.contains("PRIVATE"))
      let key = try run("key", "show", directory.file("store")).output.trimmingCharacters(
        in: .whitespacesAndNewlines)
      #expect(key.count == 66)
      #expect(
        try run("cert", "issue", "--ca", ca, "--key", key, "--user", "ann", "--days", "3", "--out", cert)
          .status == 0)
      let text = try run("cert", "show", cert).output
      for part in ["application  garage", "user         ann", "device key   \(key)", "valid until"] {
        expect(text.contains(part), "\(text)")
      }
      #expect(try run("cert", "renew", "--ca", ca, cert, "--days", "90", "--out", renewed).status == 0)
      let again = try run("cert", "show", renewed).output
      #expect(again.contains(key) && again.contains("ann") && again != text)
    }

    @Test func `a certificate for a big peer is issued, shown and renewed as such, and serves no other`()
      throws
    {
      let (ca, trusted, store) = (
        directory.file("ca.pem"), directory.file("authority.pem"), directory.file("store")
      )
      let (small, big, renewed) = (
        directory.file("small.pem"), directory.file("big.pem"), directory.file("renewed.pem")
      )
      #expect(try run("ca", "make", "--app", "garage", "--out", ca).status == 0)
      try run("ca", "show", ca).output.write(toFile: trusted, atomically: true, encoding: .utf8)
      let key = try run("key", "show", store).output.trimmingCharacters(in: .newlines)
      for arguments in [
        ["cert", "issue", "--ca", ca, "--key", key, "--out", small],
        ["cert", "issue", "--ca", ca, "--key", key, "--kind", "big", "--out", big],
        ["cert", "renew", "--ca", ca, big, "--out", renewed],
        ["cert", "renew", "--ca", ca, small, "--kind", "big", "--out", renewed + ".2"],
        ["cert", "renew", "--ca", ca, big, "--kind", "small", "--out", renewed + ".3"],
      ] {
        try expectEqual(Tool.run(arguments, in: directory.path).status, 0, "\(arguments)")
      }
      for (file, kind) in [
        (small, "small"), (big, "big"), (renewed, "big"), (renewed + ".2", "big"), (renewed + ".3", "small"),
      ] {
        let text = try run("cert", "show", file).output
        expect(text.contains("kind         \(kind)\n"), "\(file): \(text)")
      }
      let unknown = try run("cert", "issue", "--ca", ca, "--key", key, "--kind", "huge")
      #expect(unknown.status != 0 && unknown.errors.contains("huge"), "\(unknown)")
      for (certificate, kind) in [(small, "big"), (big, "small")] {
        let served = try run(
          "serve", store, "--app", "garage", "--authority", trusted, "--certificate", certificate, "--kind",
          kind, "--listen", "127.0.0.1:0")
        expect(served.status != 0)
        expect(served.errors.contains("--kind \(kind)"), "\(served)")
      }
    }

    private func write(_ name: String, _ text: String) throws {
      try text.write(toFile: directory.file(name), atomically: true, encoding: .utf8)
    }

    /// Makes an authority, and returns its file and the key of a device.
    private func makeAuthority() throws -> (ca: String, key: String) {
      let ca = directory.file("ca.pem")
      #expect(try run("ca", "make", "--app", "garage", "--out", ca).status == 0)
      let key = try run("key", "show", directory.file("store")).output
      return (ca, key.trimmingCharacters(in: .whitespacesAndNewlines))
    }

    private static let waiter = """
      {
        "read": {
          "everything": false,
          "queriesByCollection": { "menus": ["true"], "orders": ["starts_with(_id, :user.id)"] }
        },
        "write": { "everything": true }
      }
      """

    @Test func `a certificate with a grant says so, and the next one is issued and not renewed`() throws {
      let (ca, key) = try makeAuthority()
      // The path of the rules counts from the folder of the grant's file.
      let folder = directory.file("roles")
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try write("roles/waiter.json", Self.waiter)
      try write(
        "roles/ann.json", #"{"rules":"waiter.json","claims":{"team":"red"},"presence":"none"}"#)
      let (with, without) = (directory.file("with.pem"), directory.file("without.pem"))
      let issued = try run(
        "cert", "issue", "--ca", ca, "--key", key, "--user", "ann", "--grant", folder + "/ann.json", "--out",
        with, "--json")
      #expect(issued.status == 0 && issued.output.contains("\"hasGrant\":true"), "\(issued)")
      let plain = try run(
        "cert", "issue", "--ca", ca, "--key", key, "--user", "ann", "--out", without, "--json")
      #expect(plain.status == 0 && plain.output.contains("\"hasGrant\":false"), "\(plain)")
      let text = try String(contentsOfFile: with, encoding: .utf8)
      #expect(text.contains("BEGIN DUNLIN GRANT") && text.contains("BEGIN DUNLIN RULES"))
      for (file, line, json) in [
        (with, "grant        yes\n", "\"hasGrant\":true"),
        (without, "grant        none: everything\n", "\"hasGrant\":false"),
      ] {
        let shown = try run("cert", "show", file)
        expect(shown.status == 0 && shown.output.contains(line), "\(shown)")
        let values = try run("cert", "show", file, "--json")
        expect(values.output.contains(json), "\(values)")
      }
      let renewed = try run("cert", "renew", "--ca", ca, with, "--out", directory.file("next.pem"))
      #expect(renewed.status == 1)
      #expect(renewed.errors.contains("with.pem: the certificate has a grant: issue the next one"))
      #expect(!FileManager.default.fileExists(atPath: directory.file("next.pem")))
      let grant = try #require(try PeerCertificate(pem: text).grant)
      #expect(String(decoding: grant.grant, as: UTF8.self).contains("\"claims\":{\"team\":\"red\"}"))
      #expect(String(decoding: grant.grant, as: UTF8.self).contains("\"name\":\"waiter\""))
      #expect(String(decoding: grant.grant, as: UTF8.self).contains("\"presence\":\"none\""))
    }

    @Test func `a grant that is wrong or cannot be enforced is refused, with the file and the line`() throws {
      let (ca, key) = try makeAuthority()
      try write("waiter.json", Self.waiter)
      try write("syntax.json", Self.waiter.replacing("starts_with(_id, :user.id)", with: "_id ="))
      try write(
        "writing.json",
        Self.waiter.replacing(#""write": { "everything": true }"#, with: #""write": { "everything": false }"#)
      )
      try write("broken.json", "{\n{")
      for (text, parts) in [
        ("{", ["grant.json:1: "]), ("[]", ["grant.json:1: ", "object"]),
        ("{}", ["grant.json:1: ", "rules"]), ("{\n\"rules\": 7}", ["grant.json:2: rules: "]),
        (#"{"rules": "none.json"}"#, ["none.json"]),
        ("{\"rules\": \"waiter.json\",\n\"claims\": {\"a\": null}}", ["grant.json:2: claims.a: a claim is"]),
        ("{\"rules\": \"waiter.json\",\n\"presence\": \"mesh\"}", ["grant.json:2: ", "neighbours or none"]),
        ("{\"rules\": \"waiter.json\",\n\"remoteQueries\": 1}", ["grant.json:2: remoteQueries: "]),
        ("{\"rules\": \"waiter.json\",\n\"forwards\": true}", ["grant.json:2: ", "no such member"]),
        (#"{"rules": "broken.json"}"#, ["broken.json:2: "]),
        (#"{"rules": "syntax.json"}"#, ["syntax.json:4: read.queriesByCollection.orders[0]: "]),
        (#"{"rules": "writing.json"}"#, ["the grant cannot be enforced: write: rules that restrict writing"]),
      ] {
        try write("grant.json", text)
        let outcome = try run(
          "cert", "issue", "--ca", ca, "--key", key, "--user", "ann", "--grant",
          directory.file("grant.json"), "--out", directory.file("cert.pem"))
        expectEqual(outcome.status, 1, "\(text): \(outcome)")
        for part in parts { expect(outcome.errors.contains(part), "\(text): \(outcome.errors)") }
        expect(!FileManager.default.fileExists(atPath: directory.file("cert.pem")), "\(text)")
      }
      let missing = try run(
        "cert", "issue", "--ca", ca, "--key", key, "--grant", directory.file("nothing.json"))
      #expect(missing.status == 1 && missing.errors.contains("nothing.json"), "\(missing)")
      try write("grant.json", #"{"rules": "waiter.json"}"#)
      let big = try run(
        "cert", "issue", "--ca", ca, "--key", key, "--kind", "big", "--grant", directory.file("grant.json"))
      #expect(big.status != 0 && big.errors.contains("--grant is for devices"), "\(big)")
    }

    @Test func `an intermediate authority issues what its parent's peers believe`() async throws {
      let (ca, server, peer) = (
        directory.file("ca.pem"), directory.file("server.pem"), directory.file("peer.pem")
      )
      #expect(try run("ca", "make", "--app", "garage", "--out", ca).status == 0)
      let made = try run("ca", "intermediate", "--ca", ca, "--days", "30", "--out", server, "--json")
      #expect(made.output.contains("\"application\":\"garage\""), "\(made)")
      #expect(try mode(server) == 0o600)
      let shown = try run("ca", "show", ca).output
      #expect(try run("ca", "show", server).output == shown)
      let key = try run("key", "show", directory.file("store")).output.trimmingCharacters(in: .newlines)
      let issued = try run("cert", "issue", "--ca", server, "--key", key, "--days", "90", "--out", peer)
      #expect(issued.status == 0, "\(issued)")
      let certificate = try PeerCertificate(pem: try String(contentsOfFile: peer, encoding: .utf8))
      // It ends with what has issued it.
      #expect(certificate.validUntil < Date(timeIntervalSinceNow: 31 * 86_400))
      #expect(try run("cert", "show", peer).output.contains("device key   \(key)"))
      let dunlin = try Dunlin(
        path: directory.file("store"),
        identity: .certificate(
          appID: "garage", authority: shown, certificate: try String(contentsOfFile: peer, encoding: .utf8)))
      try dunlin.startSync()
      try dunlin.close()
      for (arguments, part) in [
        (["ca", "intermediate", "--ca", server, "--out", directory.file("x")], "no further authorities"),
        (["ca", "intermediate", "--ca", ca, "--out", server], "server.pem"),
        (["ca", "intermediate", "--ca", ca, "--days", "0", "--out", directory.file("x")], "--days"),
        (["ca", "intermediate", "--ca", peer, "--out", directory.file("x")], "chmod 600"),
      ] {
        let outcome = try Tool.run(arguments, in: directory.path)
        expect(outcome.status != 0)
        expect(outcome.errors.contains(part), "\(arguments): \(outcome.errors)")
      }
    }

    @Test func `what is there is not written over, and what is wrong is named`() throws {
      let ca = directory.file("ca.pem")
      #expect(try run("ca", "make", "--app", "garage", "--out", ca).status == 0)
      let twice = try run("ca", "make", "--app", "garage", "--out", ca)
      #expect(twice.status != 0)
      #expect(twice.errors.contains("ca.pem"))
      for (arguments, part) in [
        (["cert", "issue", "--ca", ca, "--key", "12"], "hexadecimal"),
        (["cert", "show", ca + ".missing"], "ca.pem.missing"),
        (["cert", "show", ca], "certificate"),
        (
          ["ca", "make", "--app", String(repeating: "a", count: 200), "--out", directory.file("x")],
          "1 to 128 bytes"
        ),
        (["serve", directory.file("s"), "--certificate", ca], "--authority"),
        (["serve", directory.file("s"), "--shared-key", ca], "32 random bytes"),
        (["serve", directory.file("s"), "--login", "https://a", "--shared-key", ca], "take one"),
        (["serve", directory.file("s"), "--login", "https://a"], "--provider"),
        (["serve", directory.file("s"), "--token-file", ca], "beside --login"),
        (["serve", directory.file("s"), "--authority", ca], "--authority stands beside"),
        (["serve", directory.file("s"), "--login", "https://a", "--provider", "p"], "DUNLIN_TOKEN"),
        (
          ["serve", directory.file("s"), "--login", "http://a", "--provider", "p", "--token-file", ca],
          "no address of a login service"
        ),
      ] {
        let outcome = try Tool.run(arguments, in: directory.path)
        expect(outcome.status != 0)
        expect(outcome.errors.contains(part), "\(arguments): \(outcome.errors)")
      }
    }

    @Test func `a served store logs in with a token from a file or from the environment`() async throws {
      let service = try await LoginService()
      let validity = Date(timeIntervalSinceNow: -60)..<Date(timeIntervalSinceNow: 3_600)
      let authority = try DunlinAuthority(text: try service.authority.pem)
      let hub = try Dunlin(
        path: directory.file("hub"),
        identity: .certificate(
          appID: "tests", authority: try authority.certificate,
          certificate: try authority.issue(
            deviceKey: try DunlinDevice.publicKey(path: directory.file("hub")), validity: validity)))
      try hub.listen()
      try hub.startSync()
      let port = try #require(hub.listeningPorts.first)
      try Data("ann's token\n".utf8).write(to: URL(filePath: directory.file("token")))
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o600], ofItemAtPath: directory.file("token"))
      for (user, arguments, environment) in [
        ("ann", ["--token-file", directory.file("token")], [:]),
        ("bob", [], ["DUNLIN_TOKEN": "bob's token"]),
      ] {
        let server = Tool.process(
          [
            "serve", directory.file(user), "--app", "tests", "--login", service.url, "--provider", "tests",
            "--web-authority", service.server.authorityFile, "--connect", "127.0.0.1:\(port)",
          ] + arguments, environment: environment)
        server.standardOutput = FileHandle.nullDevice
        try server.run()
        for await graph in hub.presence.graphs where graph.remotePeers.map(\.user) == [user] { break }
        server.terminate()
        for await graph in hub.presence.graphs where graph.remotePeers.isEmpty { break }
      }
      try hub.close()
    }

    @Test func `a served store takes a renewed certificate at a hangup, and keeps its own if that is wrong`()
      throws
    {
      let (store, certificate, ca) = (
        directory.file("served"), directory.file("own.pem"), directory.file("ca.pem")
      )
      let now = Date()
      let authority = try DunlinAuthority(appID: "tests", validity: now - 60..<now + 3_600)
      try authority.certificate.write(toFile: ca, atomically: true, encoding: .utf8)
      let own = try authority.issue(
        deviceKey: try DunlinDevice.publicKey(path: store), validity: now - 60..<now + 3_600)
      try own.write(toFile: certificate, atomically: true, encoding: .utf8)
      let server = Tool.process([
        "serve", store, "--app", "tests", "--authority", ca, "--certificate", certificate, "--listen",
        "127.0.0.1:0",
      ])
      let (output, errors) = (Pipe(), Pipe())
      server.standardOutput = output
      server.standardError = errors
      try server.run()
      defer { server.terminate() }
      func wait(for text: String, on pipe: Pipe) -> Bool {
        var read = ""
        while !read.contains(text) {
          let more = pipe.fileHandleForReading.availableData
          guard !more.isEmpty else { return false }
          read += String(decoding: more, as: UTF8.self)
        }
        return true
      }
      #expect(wait(for: "listening on", on: output))
      try "no certificate".write(toFile: certificate, atomically: true, encoding: .utf8)
      kill(server.processIdentifier, SIGHUP)
      #expect(wait(for: "could not be renewed", on: errors))
      try own.write(toFile: certificate, atomically: true, encoding: .utf8)
      kill(server.processIdentifier, SIGHUP)
      #expect(wait(for: "was read again", on: errors))
      #expect(server.isRunning)
    }

    @Test func `a shared key is made anew each time`() throws {
      let (one, other) = (try run("key").output, try run("key", "make").output)
      #expect(one != other)
      #expect(Data(base64Encoded: one.trimmingCharacters(in: .whitespacesAndNewlines))?.count == 32)
      let file = directory.file("key")
      #expect(try run("key", "make", "--out", file).status == 0)
      #expect(try mode(file) == 0o600)
    }
  }
#endif
