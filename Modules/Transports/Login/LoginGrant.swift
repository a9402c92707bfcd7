#if TLS
  package import Foundation

  /// What a login has given, checked: the certificate, and whose it has to be.
  package struct LoginGrant: Sendable {
    /// How far ahead of all known clocks a certificate may start.
    static let clockTolerance: TimeInterval = 300

    /// What is known of the time.
    package struct Clock: Sendable {
      /// The device's own clock.
      package let now: @Sendable () -> Date
      /// The time that the service has said together with its answer.
      package let service: Date?

      package init(now: @escaping @Sendable () -> Date, service: Date? = nil) {
        self.now = now
        self.service = service
      }
    }

    /// What the device proves itself with.
    package let credentials: PeerCredentials
    package let certificate: PeerCertificate
    package let authority: TrustedAuthority
    /// What the service has to say to the application, as JSON.
    package var clientInfo: String?

    /// Reads what was checked before and kept; only whether it is for this device and holds still is looked at.
    ///
    /// - Parameters:
    ///   - certificate: The certificate (PEM), and after it those between it and the authority's.
    ///   - authority: The authority (PEM), as the service named it.
    ///   - device: Whom it must be for, and by which authority, where that is known.
    ///   - clock: What is known of the time.
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
      credentials = try PeerCredentials(
        key: device.key, certificate: self.certificate, trusted: self.authority, now: clock.now)
    }

    /// Checks what a service has given, as another peer would, and more.
    ///
    /// - Parameters:
    ///   - certificate: The certificate (PEM), and after it those between it and the authority's.
    ///   - authority: The authority (PEM) as the service names it.
    ///   - device: Whom it must be for, and by which authority, where that is known.
    ///   - clock: What is known of the time.
    /// - Throws: `credentials`, `untrusted` or `expired`, saying what is wrong.
    package init(
      checking certificate: String, authority: String?, for device: LoginClient.Device, clock: Clock
    ) async throws(LinkError) {
      try Self.checkTime(of: try PeerCertificate(pem: certificate), by: clock)
      try self.init(certificate: certificate, authority: authority, for: device, clock: clock)
      try await credentials.verify()
    }

    /// Whom to believe: the known authority, which the service may name again, or the one that it names the first time.
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

    /// A certificate may start later than the clock here says, which may have lost its time, and not later than all clocks.
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
