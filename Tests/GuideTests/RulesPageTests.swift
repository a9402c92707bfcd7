#if TLS
  import DunlinKit
  import Foundation
  import TestKit
  import Testing

  /// The code of `Documentation/Rules.md`.
  @Suite struct RulesPageTests {
    @Test func `a certificate with rules in code`() throws {
      let directory = try TemporaryDirectory()
      let validity = Date(timeIntervalSinceNow: -60)..<Date(timeIntervalSinceNow: 3_600)
      let office = try DunlinAuthority(appID: "orders", validity: validity)
      let deviceKey = try DunlinDevice.publicKey(path: directory.file("phone"))

      let rules = """
        {
          "read": {
            "everything": false,
            "queriesByCollection": { "menus": ["true"], "orders": ["_id.owner = :user.id"] }
          },
          "write": { "everything": true }
        }
        """
      let grant = try DunlinGrant(rules: rules, name: "waiter", claims: ["teams": ["red"]])
      let certificate = try office.issue(
        deviceKey: deviceKey, user: "ann", grant: grant, validity: validity)
      print("has a grant:", try DunlinCertificate(text: certificate).hasGrant)

      #expect(try DunlinCertificate(text: certificate).hasGrant)
      let phone = try Dunlin(
        path: directory.file("phone"),
        identity: .certificate(
          appID: "orders", authority: try office.certificate, certificate: certificate))
      try phone.startSync()
      try phone.close()
    }
  }
#endif
