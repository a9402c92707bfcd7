#if TLS
  import CRDTCore
  import Foundation
  import Testing

  @testable import Links

  /// An application whose authorities revoke.
  struct RevocationRig {
    let authority: PeerAuthority
    let intermediate: PeerAuthority
    let validity: Range<Date>
    /// The end of all that is revoked, in seconds since 1970.
    let end: Int64

    init(application: String = "test") throws {
      let now = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded())
      validity = now - 3_600..<now + 86_400
      end = Int64(validity.upperBound.timeIntervalSince1970)
      authority = try PeerAuthority(application: application, validity: validity)
      intermediate = try authority.makeIntermediate(validity: validity)
    }

    func entry(_ subject: RevocationEntry.Subject) throws -> RevocationEntry {
      try RevocationEntry(subject, neededUntil: end)
    }

    /// Entries for keys that nobody has.
    func entries(_ numbers: Range<Int>) throws -> [RevocationEntry] {
      try numbers.map { try entry(.key(Self.key($0))) }
    }

    static func key(_ number: Int) throws -> PeerKey {
      let digits = (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
      return try #require(PeerKey([2] + digits + [UInt8](repeating: 7, count: 24)))
    }

    func list(
      _ entries: [RevocationEntry], after former: RevocationList? = nil, by issuer: PeerAuthority? = nil
    ) throws -> RevocationList {
      try RevocationList.make(
        by: issuer ?? authority, extending: former, adding: entries, now: validity.lowerBound)
    }

    func credentials(_ key: DeviceKey, user: String? = nil, by issuer: PeerAuthority? = nil) throws
      -> PeerCredentials
    {
      let certificate = try (issuer ?? authority).issue(for: key.peerKey, user: user, validity: validity)
      return try PeerCredentials(key: key, certificate: certificate, trusted: authority.trusted)
    }

    /// The lists of a peer of the application.
    func lists() throws -> RevocationLists {
      let lists = RevocationLists(revoked: RevokedKeys())
      lists.trust(try credentials(DeviceKey()))
      return lists
    }
  }

  /// Two peers that exchange their lists without a network.
  final class RevocationPair {
    let left: RevocationLists
    let right: RevocationLists
    private var now = Duration.zero
    /// All messages, for tests of what is sent.
    private(set) var messages: [[UInt8]] = []

    init(_ left: RevocationLists, _ right: RevocationLists) { (self.left, self.right) = (left, right) }

    /// Lets both name their heads, and passes messages on until there are none.
    func meet() throws {
      var toRight = [left.heads].compactMap(\.self)
      var toLeft = [right.heads].compactMap(\.self)
      for _ in 0..<100_000 where !toRight.isEmpty || !toLeft.isEmpty {
        now += .milliseconds(1)
        let (forRight, forLeft) = (toRight, toLeft)
        (toRight, toLeft) = ([], [])
        messages += forRight + forLeft
        for message in forRight {
          let change = try right.receive(message, in: 1, now: now)
          toLeft += change.replies
          if !change.changed.isEmpty, let heads = right.heads { toLeft.append(heads) }
        }
        for message in forLeft {
          let change = try left.receive(message, in: 1, now: now)
          toRight += change.replies
          if !change.changed.isEmpty, let heads = left.heads { toRight.append(heads) }
        }
      }
      left.end(1)
      right.end(1)
    }
  }
#endif
