#if Server
  package import CRDTCore
  package import Foundation
  package import Links

  /// Issues certificates with an intermediate authority of the application, whose parent is offline.
  package struct LoginIssuer: Sendable {
    /// The maximum length of the intermediate authority's text, in bytes.
    private static let textBytes = 64 << 10
    /// How far in the past a certificate begins, in seconds, because clocks differ.
    private static let past: TimeInterval = 300

    private let authority: PeerAuthority
    /// The name of the source in messages.
    private let place: String

    /// Reads the intermediate authority.
    ///
    /// - Parameters:
    ///   - source: Its source.
    ///   - application: The application that it must be for.
    ///   - now: The time.
    /// - Throws: `BigPeerError` that names the file or the program, and says what is wrong.
    package init(
      _ source: BigPeerConfiguration.Login.AuthoritySource, application: String, now: Date = Date()
    ) throws {
      let text: String
      switch source {
      case .file(let path):
        place = "the intermediate authority in \(path)"
        guard let read = try SecretText.read(path, atMost: Self.textBytes, "the intermediate authority")
        else {
          throw BigPeerError("\(place): this is no key and no certificate")
        }
        text = read
      case .command(let command):
        place = "the intermediate authority from \(command.first ?? "")"
        text = try CommandOutput.text(of: command, byteLimit: Self.textBytes)
      }
      do {
        authority = try PeerAuthority(pem: text)
      } catch {
        throw BigPeerError("\(place): \(error.message)", underlying: error)
      }
      guard authority.isIntermediate else {
        throw BigPeerError(
          "\(place): it is the application's authority itself, which stays offline; make one for the server: dunlin ca intermediate --ca FILE --out FILE"
        )
      }
      guard authority.application.isSame(as: application) else {
        throw BigPeerError("\(place): it is for \(authority.application), and not for \(application)")
      }
      guard authority.validFrom <= now, now < authority.validUntil else {
        throw BigPeerError(
          "\(place): it is valid from \(authority.validFrom.timeText) until \(authority.validUntil.timeText), and the clock here says \(now.timeText)"
        )
      }
    }

    /// The application's authority (PEM), as devices receive it.
    package var trusted: TrustedAuthority { authority.trusted }

    /// Whether the intermediate authority was issued by a given authority.
    func isOf(_ authority: TrustedAuthority) -> Bool { trusted.isSame(as: authority) }

    /// The time until which it can issue certificates.
    package var validUntil: Date { authority.validUntil }

    /// Checks that peers would accept the certificates that it issues.
    ///
    /// - Throws: `BigPeerError`, with the reason why they would not.
    package func verify() async throws {
      do throws(LinkError) {
        let key = DeviceKey()
        let certificate = try issue(
          to: key.peerKey, user: nil, seconds: TimeInterval(BigPeerConfiguration.Login.shortestValidity),
          information: [:], now: Date())
        try await PeerCredentials(key: key, certificate: certificate, trusted: trusted).verify()
      } catch {
        throw BigPeerError("\(place): \(error.message)", underlying: error)
      }
    }

    /// Issues a certificate for a login, which is that of a small peer.
    ///
    /// - Parameters:
    ///   - deviceKey: The device's key.
    ///   - user: The user of the device.
    ///   - seconds: The validity from now on; it ends with the intermediate authority at the latest.
    ///   - information: The information that all peers receive about the device.
    ///   - grant: What the user may do; `nil` for everything.
    ///   - now: The time.
    ///   - cutoff: The time before which the user's certificates are revoked; `nil` for none.
    /// - Returns: The certificate, and that of the intermediate authority.
    /// - Throws: `credentials` if the intermediate authority has expired.
    package func issue(
      to deviceKey: PeerKey, user: String?, seconds: TimeInterval, information: [TextKey: Value],
      grant: GrantTexts? = nil, now: Date, after cutoff: Date? = nil
    ) throws(LinkError) -> PeerCertificate {
      guard authority.validUntil > now else {
        throw LinkError(
          .credentials, "\(place) has ended at \(authority.validUntil.timeText): make another one")
      }
      // A certificate of this moment is not one from before the cutoff.
      let start = max(now - Self.past, min(cutoff ?? .distantPast, now))
      return try authority.issue(
        for: deviceKey, user: user, validity: start..<now + seconds, proof: .online,
        information: information, grant: grant)
    }

    /// The hash that names the intermediate authority in revocations.
    var hash: AuthorityHash { authority.hash }

    /// Adds device keys to the intermediate authority's revocation list.
    ///
    /// They are needed until the end of the application's authority, since a later intermediate authority
    /// could issue certificates for them.
    ///
    /// - Parameters:
    ///   - keys: The device keys.
    ///   - former: The list so far, and what was kept of others; `nil` if there is none.
    ///   - now: The time.
    /// - Returns: The list.
    /// - Throws: `limit` for too many entries.
    func revoke(
      _ keys: Set<PeerKey>, extending former: HeldRevocations?, now: Date = Date()
    ) throws(LinkError) -> RevocationList {
      let end = Int64(trusted.validUntil.timeIntervalSince1970)
      var entries = former?.kept ?? []
      for key in keys { entries.append(try RevocationEntry(.key(key), neededUntil: end)) }
      return try RevocationList.make(by: authority, extending: former?.list, adding: entries, now: now)
    }

    /// Issues the certificate of the big peer itself; it expires with the intermediate authority.
    ///
    /// - Throws: `BigPeerError`.
    package func issueOwn(to deviceKey: String, now: Date = Date()) throws -> String {
      do {
        return try authority.issue(
          for: PeerKey(hexadecimal: deviceKey), user: nil, isBigPeer: true,
          validity: now - Self.past..<authority.validUntil
        ).pem
      } catch {
        throw BigPeerError("\(place): \(error)", underlying: error)
      }
    }
  }
#endif
