#if TLS
  import Foundation
  import TestKit
  import Testing

  @Suite(.timeLimit(.minutes(3))) struct IdentityCommandTests {
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
        #expect(text.contains(part), "\(text)")
      }
      #expect(try run("cert", "renew", "--ca", ca, cert, "--days", "90", "--out", renewed).status == 0)
      let again = try run("cert", "show", renewed).output
      #expect(again.contains(key) && again.contains("ann") && again != text)
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
      ] {
        let outcome = try Tool.run(arguments, in: directory.path)
        #expect(outcome.status != 0)
        #expect(outcome.errors.contains(part), "\(arguments): \(outcome.errors)")
      }
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
