#if TLS
  public import Foundation
  import Links

  /// Something that an authority revokes: peers that it names are refused, and their sessions end.
  ///
  /// Each revocation is kept until a time. Without one it is the end of the application's authority, since
  /// nothing that is signed is valid for longer.
  public enum DunlinRevocation: Hashable, Sendable {
    /// A device key, with all certificates for it.
    ///
    /// The key is 66 hexadecimal digits, as ``DunlinDevice/publicKey(path:keyStore:)`` returns it.
    case deviceKey(String, until: Date? = nil)
    /// A certificate, in its text form (PEM); it is kept until that ends.
    case certificate(String)
    /// A certificate of the authority that revokes, by its serial number in hexadecimal digits.
    ///
    /// The audit log of logins has these numbers.
    case serialNumber(String, until: Date? = nil)
    /// The certificates of a user whose validity begins before a time; later ones are good.
    case user(String, issuedBefore: Date, until: Date? = nil)
  }

  extension DunlinAuthority {
    /// Adds revocations to this authority's revocation list, and signs it.
    ///
    /// An authority has one list, which only grows. Give it to any peer with
    /// ``Dunlin/addRevocations(_:)``: it spreads from there. Always begin with the latest list: of two that
    /// grow apart, peers get only one whole.
    ///
    /// - Parameters:
    ///   - revocations: What is revoked; empty to sign a first list without entries.
    ///   - list: The list so far; `nil` if there is none.
    /// - Returns: The list, for a file.
    /// - Throws: `identity` for a list of another authority, a wrong certificate or key; `malformed` for a
    ///   list that cannot be read and for values that no certificate has; `limit` for more than 100,000
    ///   entries.
    public func revoke(_ revocations: [DunlinRevocation], extending list: [UInt8]? = nil) throws -> [UInt8] {
      try translatingErrors {
        let former = try list.map { bytes throws(LinkError) in try RevocationList(file: bytes) }
        let entries = try revocations.map { try entry($0) }
        return try RevocationList.make(
          by: authority, extending: former, adding: entries, now: Date()
        ).file
      }
    }

    /// The entry for a revocation.
    private func entry(_ revocation: DunlinRevocation) throws(LinkError) -> RevocationEntry {
      let subject: RevocationEntry.Subject
      let end: Date?
      switch revocation {
      case .deviceKey(let key, let until):
        (subject, end) = (.key(try PeerKey(hexadecimal: key)), until)
      case .certificate(let text):
        let certificate = try PeerCertificate(pem: text)
        (subject, end) = (certificate.revocation(below: authority.trusted), certificate.validUntil)
      case .serialNumber(let digits, let until):
        guard let number = [UInt8](serialNumber: digits) else {
          throw LinkError(.credentials, "A serial number is 1 to 20 bytes in hexadecimal digits")
        }
        (subject, end) = (.certificate(issuer: authority.hash, serialNumber: number), until)
      case .user(let user, let time, let until):
        guard time.timeIntervalSinceNow <= 1 else {
          throw LinkError(
            .credentials,
            "A time in the future would refuse certificates of later logins, and cannot be taken back")
        }
        (subject, end) = (.user(user, issuedBefore: Self.seconds(time)), until)
      }
      return try RevocationEntry(
        subject, neededUntil: Self.seconds(end ?? authority.trusted.validUntil))
    }

    /// Whole seconds since 1970, rounded up and within what an entry can have.
    private static func seconds(_ date: Date) -> Int64 {
      Int64(min(max(date.timeIntervalSince1970.rounded(.up), 0), Double(RevocationEntry.latest)))
    }
  }
#endif
