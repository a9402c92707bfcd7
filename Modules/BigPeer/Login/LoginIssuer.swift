#if Server
  package import CRDTCore
  package import Foundation
  package import Transports

  /// Issues certificates with an intermediate authority of the application, whose parent is offline.
  package struct LoginIssuer: Sendable {
    /// Bytes of the intermediate authority's text.
    private static let textBytes = 64 << 10
    /// Seconds before now at which a certificate begins, since clocks differ.
    private static let past: TimeInterval = 300

    private let authority: PeerAuthority
    /// What messages call it.
    private let place: String

    /// Reads the intermediate authority.
    ///
    /// - Parameters:
    ///   - source: Where it is.
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
          "\(place): it is valid from \(authority.validFrom.formatted(.iso8601)) until \(authority.validUntil.formatted(.iso8601)), and the clock here says \(now.formatted(.iso8601))"
        )
      }
    }

    /// The application's authority (PEM), as devices are told it.
    package var trusted: TrustedAuthority { authority.trusted }

    /// Whether another authority is the one that it rests on.
    func isOf(_ authority: TrustedAuthority) -> Bool { trusted.isSame(as: authority) }

    /// Until when it may issue.
    package var validUntil: Date { authority.validUntil }

    /// Sees to it that peers would believe what it issues.
    ///
    /// - Throws: `BigPeerError`, saying why they would not.
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

    /// Issues a certificate for a login.
    ///
    /// - Parameters:
    ///   - deviceKey: The device's key.
    ///   - user: The user that the device stands for.
    ///   - seconds: For how long it holds from now on; it ends with the intermediate authority at the latest.
    ///   - information: What all peers are told of the device.
    ///   - now: The time.
    /// - Returns: The certificate, and that of the intermediate authority.
    /// - Throws: `credentials` where nothing is left of the intermediate authority's time.
    package func issue(
      to deviceKey: PeerKey, user: String?, seconds: TimeInterval, information: [TextKey: Value], now: Date
    ) throws(LinkError) -> PeerCertificate {
      guard authority.validUntil > now else {
        throw LinkError(
          .credentials, "\(place) has ended at \(authority.validUntil.formatted(.iso8601)): make another one")
      }
      return try authority.issue(
        for: deviceKey, user: user, validity: now - Self.past..<now + seconds, proof: .online,
        information: information)
    }

    /// Issues the certificate with which the big peer itself meets its devices; it ends with the intermediate authority.
    ///
    /// - Throws: `BigPeerError`.
    package func issueOwn(to deviceKey: String, now: Date = Date()) throws -> String {
      do {
        return try authority.issue(
          for: PeerKey(hexadecimal: deviceKey), user: nil, validity: now - Self.past..<authority.validUntil
        ).pem
      } catch {
        throw BigPeerError("\(place): \(error)", underlying: error)
      }
    }
  }
#endif
