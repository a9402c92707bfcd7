import CRDTCore
import TestKit
import Testing

@testable import Links

@Suite struct DiscoverySecretTests {
  private static let site = SiteID(high: 7, low: 8)

  static var secrets: [(DiscoverySecret, DiscoverySecret)] {
    get throws {
      var pairs = [
        (
          DiscoverySecret.unsafeDevelopment(application: "garage"),
          DiscoverySecret.unsafeDevelopment(application: "garages")
        )
      ]
      #if TLS
        func secret(_ start: UInt8, _ application: String) throws -> DiscoverySecret {
          let key = (0..<32).map { UInt8(truncatingIfNeeded: start &+ $0 &* 7) }
          return try PeerCredentials(sharedKey: key, application: application, key: DeviceKey())
            .discoverySecret
        }
        pairs.append((try secret(1, "garage"), try secret(2, "garage")))
        pairs.append((try secret(1, "garage"), try secret(1, "garages")))
      #endif
      return pairs
    }
  }

  @Test func `a tag is another one on each day and for each application`() throws {
    for (own, other) in try Self.secrets {
      expectEqual(own.tag(ofDay: 5), own.tag(ofDay: 5))
      expect(own.tag(ofDay: 5) != own.tag(ofDay: 6))
      expect(own.tag(ofDay: 5) != other.tag(ofDay: 5))
      expect(own.tag(ofDay: 5) != own.tag(ofDay: 5, group: 1))
      expectEqual(own.tag(ofDay: 5).utf8.count, 2 * DiscoverySecret.codeBytes)
      expect(ServiceNames.peers(tagged: own.tag(ofDay: -1)) != nil)
    }
  }

  @Test func `an instance is another one each time, and known as its site's to who has the secret`() throws {
    for (own, other) in try Self.secrets {
      let instance = own.instance(of: Self.site, salt: 1)
      expect(instance != own.instance(of: Self.site, salt: 2))
      expect(own.isInstance(instance, of: Self.site))
      expect(!own.isInstance(instance, of: SiteID(high: 7, low: 9)))
      expect(!other.isInstance(instance, of: Self.site))
      for wrong in ["", "x", String(instance.dropLast()), "+" + instance.dropFirst()] {
        expect(!own.isInstance(wrong, of: Self.site))
      }
    }
  }

  #if TLS
    @Test func `members with certificates of one authority have one secret`() throws {
      let authorities = try (0..<2).map { _ in
        try PeerAuthority(application: "garage", validity: PeerAuthority.always)
      }
      let tags = try [0, 0, 1].map { number in
        let key = DeviceKey()
        let authority = authorities[number]
        let certificate = try authority.issue(for: key.peerKey, user: "u", validity: PeerAuthority.always)
        return try PeerCredentials(key: key, certificate: certificate, trusted: authority.trusted)
          .discoverySecret.tag(ofDay: 5)
      }
      #expect(tags[0] == tags[1])
      #expect(tags[0] != tags[2])
    }
  #endif
}
