#if TLS
  package import Foundation

  /// The result of a login after checks: a certificate for the expected device.
  package struct LoginGrant: Sendable {
    /// How far ahead of all known clocks a certificate may start, in seconds.
    static let clockTolerance: TimeInterval = 300

    /// The known clocks.
    package struct Clock: Sendable {
      /// The device's own clock.
      package let now: @Sendable () -> Date
      /// The time that the service has sent with its answer.
      package let service: Date?

      package init(now: @escaping @Sendable () -> Date, service: Date? = nil) {
        self.now = now
        self.service = service
      }
    }

    /// The credentials of the device.
    package let credentials: PeerCredentials
    package let certificate: PeerCertificate
    package let authority: TrustedAuthority
    /// The service's information for the application, as JSON.
    package var clientInfo: String?

    /// Reads a stored certificate that was checked before.
    ///
    /// It checks only whether the certificate is for this device and still valid.
    ///
    /// - Parameters:
    ///   - certificate: The certificate (PEM), followed by those of the intermediate authorities.
    ///   - authority: The authority (PEM), as the service named it.
    ///   - device: The device that it must be for, and the authority that must have issued it, if known.
    ///   - clock: The known clocks.
    /// - Throws: `credentials`, `untrusted` or `expired`, saying what is wrong.
    package init(certificate: String, authority: String?, for device: LoginClient.Device, clock: Clock)
      throws(LinkError)
    {
      self.certificate = try PeerCertificate(pem: certificate)
      self.authority = try Self.authority(named: authority, known: device.authority)
      guard self.authority.proof != .sharedKey, self.certificate.proof != .sharedKey else {
        throw LinkError(.credentials, "It rests on a shared key, and not on the application's authority")
      }
      guard self.certificate.application == device.application else {
        throw LinkError(
          .credentials,
          "It is for the application \(self.certificate.application), and not for \(device.application)")
      }
      try self.certificate.checkKind(isBigPeer: device.isBigPeer)
      credentials = try PeerCredentials(
        key: device.key, certificate: self.certificate, trusted: self.authority, now: clock.now)
    }

    /// Checks what a service has sent, as another peer would, and more.
    ///
    /// - Parameters:
    ///   - certificate: The certificate (PEM), followed by those of the intermediate authorities.
    ///   - authority: The authority (PEM), as the service names it.
    ///   - device: The device that it must be for, and the authority that must have issued it, if known.
    ///   - clock: The known clocks.
    /// - Throws: `credentials`, `untrusted` or `expired`, saying what is wrong.
    package init(
      checking certificate: String, authority: String?, for device: LoginClient.Device, clock: Clock
    ) async throws(LinkError) {
      try Self.checkTime(of: try PeerCertificate(pem: certificate), by: clock)
      try self.init(certificate: certificate, authority: authority, for: device, clock: clock)
      try await credentials.verify()
    }

    /// The authority to trust: the known one, or the one that the service names the first time.
    ///
    /// The service may name the known authority again.
    private static func authority(named text: String?, known: TrustedAuthority?) throws(LinkError)
      -> TrustedAuthority
    {
      let named: TrustedAuthority? =
        if let text { try TrustedAuthority(pem: text) } else { nil }
      switch (known, named) {
      case (let known?, let named?):
        guard known.isSame(as: named) else {
          throw LinkError(.untrusted, "The authority that it names is another one than the application's")
        }
        return named.isRenewal(of: known) ? named : known
      case (let known?, nil): return known
      case (nil, let named?): return named
      case (nil, nil):
        throw LinkError(.credentials, "It names no authority, and the application has configured none")
      }
    }

    /// Checks the start of a certificate.
    ///
    /// It may be later than one clock says, but not later than all clocks.
    ///
    /// The clock here may be behind, because the device lost its time.
    private static func checkTime(of certificate: PeerCertificate, by clock: Clock) throws(LinkError) {
      let now = clock.now()
      let known = [now, clock.service].compactMap(\.self)
      let clocks =
        "the clock here says \(text(now))"
        + (clock.service.map { " and the service's \(text($0))" } ?? "")
      let validity = "It is valid from \(text(certificate.validFrom)) until \(text(certificate.validUntil))"
      guard known.contains(where: { certificate.validFrom <= $0 + clockTolerance }) else {
        throw LinkError(.credentials, "\(validity), which has not begun: \(clocks)")
      }
      guard known.allSatisfy({ $0 <= certificate.validUntil }) else {
        throw LinkError(.expired, "\(validity), which has ended: \(clocks)")
      }
    }

    private static func text(_ date: Date) -> String { date.formatted(.iso8601) }
  }
#endif
