#if Server
  import Facade
  import Foundation
  import Links
  import NIOSSL
  import QueryEngine

  /// The keys, certificates, secrets and queries that a start needs, read and verified.
  ///
  /// `bigpeer check`, the start and a reload read it in the same way. Nothing is created and nothing is
  /// opened.
  struct StartMaterial: Sendable {
    /// The certificate of the HTTP listener.
    let certificate: CertifiedKey?
    /// The applications, in the configuration's order.
    let applications: [ApplicationMaterial]

    /// The place and the text of what is wrong with the certificate's validity; `nil` if it is valid.
    let certificateFault: ConfigurationError?

    /// Checks a whole configuration.
    ///
    /// An HTTP certificate that has ended, or has not begun, does not fail the check: devices do not use it.
    /// - Parameters:
    ///   - configuration: The configuration.
    ///   - toleratesDamage: Whether an application may have ``ApplicationMaterial/damage``.
    /// - Throws: All mistakes as one error, each with the place of the setting.
    init(
      _ configuration: BigPeerConfiguration, toleratesDamage: Bool = false
    ) async throws(ConfigurationError) {
      let (places, mistakes) = (configuration.places, Mistakes())
      try configuration.check()
      let adminFault = configuration.admin.listen == nil ? nil : AdminToken.fault(in: configuration.data)
      let dataFault = Directory.fault(configuration.data) ?? adminFault
      if let dataFault { mistakes.add(places.fault("data", dataFault)) }
      if configuration.http.listen != nil, let tls = configuration.http.tls {
        let key = mistakes.collect { try CertifiedKey(tls, places) }
        certificate = key
        certificateFault = key?.fault(at: Date()).map { fault in
          places.fault("http.tls.certificate", "the certificate in \(tls.certificate) \(fault)")
        }
      } else {
        (certificate, certificateFault) = (nil, nil)
      }
      // What the applications keep stands in the directory, unless they say another one.
      if dataFault != nil { try mistakes.check() }
      var applications: [ApplicationMaterial] = []
      for (index, application) in configuration.applications.enumerated() {
        let places = ApplicationPlaces(places, BigPeerConfiguration.path(index))
        let material = await mistakes.collecting { () async throws(ConfigurationError) in
          try await ApplicationMaterial(application, places, toleratesDamage: toleratesDamage)
        }
        if let material { applications.append(material) }
      }
      self.applications = applications
      try mistakes.check()
    }

    /// Refuses a certificate that clients refuse.
    ///
    /// - Throws: The fault, with the place of the setting.
    func checkValidity() throws(ConfigurationError) {
      if let certificateFault { throw certificateFault }
    }
  }

  extension BigPeerConfiguration {
    /// Reads all that a start needs, also the files, programs and variables of the settings; starts nothing.
    ///
    /// Only the start itself shows whether ports are free and whether stores can be opened.
    /// - Throws: All mistakes as one error, each with the place of the setting: the file and the line, the
    ///   flag or the variable.
    public func verify() async throws(ConfigurationError) {
      try await StartMaterial(self).checkValidity()
    }
  }

  /// The places of the settings of one application.
  struct ApplicationPlaces: Sendable {
    private let places: SettingPlaces
    private let path: String

    init(_ places: SettingPlaces, _ path: String) { (self.places, self.path) = (places, path) }

    /// Makes the error for a mistake in a setting of the application.
    func fault(_ setting: String, _ message: String) -> ConfigurationError {
      places.fault("\(path).\(setting)", message)
    }

    /// Reads what a setting names; errors name the setting's place.
    func reading<R>(_ setting: String, _ body: () async throws -> R) async throws(ConfigurationError) -> R {
      do {
        return try await body()
      } catch {
        let error = DunlinError.translating(error)
        throw fault(setting, (error as? DunlinError)?.message ?? "\(error)")
      }
    }
  }

  /// The contents of the files, programs and variables of one application.
  package struct ApplicationMaterial: Sendable {
    /// The credentials of the peer.
    enum Identity: Sendable {
      /// `nil` means a key that is made at the first start.
      case sharedKey(DunlinSharedKey?)
      case certificate(authority: String, certificate: String)
      case intermediate(LoginIssuer)
      case development
    }

    var identity: Identity
    /// The intermediate authority, if the application has a login endpoint.
    let issuer: LoginIssuer?
    /// Signs requests to the login webhook.
    let webhookSecret: String?
    let places: ApplicationPlaces
    /// What is wrong with the application's own directory: then the application cannot be opened.
    let damage: ConfigurationError?

    /// When each certificate ends, by its use: `identity` or `login`.
    var certificateEnds: [String: Date] {
      var ends: [String: Date] = [:]
      if let issuer { ends["login"] = issuer.validUntil }
      switch identity {
      case .certificate(_, let text):
        let chain = try? NIOSSLCertificate.fromPEMBytes(Array(text.utf8))
        if let end = chain?.map(\.notValidAfter).min() {
          ends["identity"] = Date(timeIntervalSince1970: Double(end))
        }
      case .intermediate(let issuer): ends["login"] = issuer.validUntil
      case .sharedKey, .development: break
      }
      return ends
    }

    /// Reads the material of an application that was configured in code.
    package init(_ application: BigPeerConfiguration.Application) async throws(ConfigurationError) {
      try await self.init(application, ApplicationPlaces(SettingPlaces(), BigPeerConfiguration.path(0)))
    }

    init(
      _ application: BigPeerConfiguration.Application, _ places: ApplicationPlaces,
      toleratesDamage: Bool = false
    ) async throws(ConfigurationError) {
      self.places = places
      let mistakes = Mistakes()
      // What the server keeps itself is no mistake of the configuration's author.
      let damages = toleratesDamage ? Mistakes() : mistakes
      let folderFault = Directory.fault(application.folder)
      if let folderFault { damages.add(places.fault("folder", folderFault)) }
      let login = await mistakes.collecting { () async throws(ConfigurationError) in
        try await Self.login(application, places)
      }
      // What could not be read of these, the identity would lack.
      let identity =
        folderFault != nil || login == nil
        ? nil
        : await (application.identity == .sharedKey(file: nil) ? damages : mistakes)
          .collecting { () async throws(ConfigurationError) in
            try await Self.identity(application, login?.0, places)
          }
      if let path = application.feed.webhookAuthorities {
        await mistakes.collecting { () async throws(ConfigurationError) in
          try await places.reading("feed.webhookAuthorities") { try Self.checkAuthorities(path) }
        }
      }
      for (index, text) in application.subscriptions.enumerated() {
        await mistakes.collecting { () async throws(ConfigurationError) in
          try await places.reading("subscribe[\(index)]") {
            do {
              _ = try SubscriptionQuery(dql: ApplicationInterest.statement(text), isRestricted: true)
            } catch {
              // The error contains line and column.
              throw BigPeerError("\(DunlinError.translating(error))")
            }
          }
        }
      }
      try mistakes.check()
      do throws(ConfigurationError) {
        try damages.check()
        damage = nil
      } catch {
        damage = error
      }
      (issuer, webhookSecret) = login ?? (nil, nil)
      self.identity = identity ?? .development
    }

    private static func login(
      _ application: BigPeerConfiguration.Application, _ places: ApplicationPlaces
    ) async throws(ConfigurationError) -> (LoginIssuer?, String?) {
      guard let login = application.login else { return (nil, nil) }
      let issuer = try await places.reading("login.authority") {
        let issuer = try LoginIssuer(login.authority, application: application.id)
        // Checks whether devices would accept the certificates that it issues.
        try await issuer.verify()
        return issuer
      }
      try await places.reading("login.webhook") { _ = try HTTPSAddress(orLoopback: login.webhook) }
      if let path = login.webhookAuthority {
        try await places.reading("login.webhookAuthority") { try checkAuthorities(path) }
      }
      return (issuer, try await places.reading("login.webhookSecret") { try login.webhookSecret?.text() })
    }

    private static func identity(
      _ application: BigPeerConfiguration.Application, _ issuer: LoginIssuer?, _ places: ApplicationPlaces
    ) async throws(ConfigurationError) -> Identity {
      switch application.identity {
      case .development: return .development
      case .intermediate:
        return try await places.reading("identity") {
          guard let issuer else {
            throw BigPeerError("there is no intermediate authority, without a login endpoint")
          }
          return .intermediate(issuer)
        }
      case .sharedKey(let file?):
        return try await places.reading("identity.key") {
          try KeyText.checkSecret(file)
          return Identity.sharedKey(try DunlinSharedKey(try KeyText.read(file)))
        }
      case .sharedKey(nil):
        return try await places.reading("folder") { .sharedKey(try application.ownSharedKey()) }
      case .certificate(let authorityFile, let certificateFile):
        let (authority, trusted) = try await places.reading("identity.authority") {
          let text = try KeyText.read(authorityFile)
          let trusted = try TrustedAuthority(pem: text)
          guard issuer?.isOf(trusted) ?? true else {
            throw BigPeerError(
              "the file \(authorityFile) is of another authority than that of the intermediate one for logins"
            )
          }
          return (text, trusted)
        }
        return try await places.reading("identity.certificate") {
          let text = try KeyText.read(certificateFile)
          try await check(text, trusted, application)
          return .certificate(authority: authority, certificate: text)
        }
      }
    }

    /// Checks that devices would accept the certificate, and that of a big peer.
    private static func check(
      _ certificate: String, _ trusted: TrustedAuthority, _ application: BigPeerConfiguration.Application
    ) async throws {
      let certificate = try PeerCertificate(pem: certificate)
      guard certificate.application == application.id else {
        throw BigPeerError(
          "the certificate is for the application \(certificate.application), and not for \(application.id)")
      }
      guard let key = try DunlinDevice.storedKey(path: application.storePath) else {
        throw BigPeerError(
          "the store has no key yet that a certificate could be for: dunlin key show \(application.storePath) makes it and prints it"
        )
      }
      try await PeerCredentials(key: key, certificate: certificate, trusted: trusted).verify()
      try certificate.checkKind(isBigPeer: true)
    }

    /// Checks that a file has authorities for verifying certificates of web services.
    private static func checkAuthorities(_ path: String) throws {
      let found = try? NIOSSLCertificate.fromPEMFile(path)
      guard found?.isEmpty == false else { throw BigPeerError("the file \(path) has no certificate (PEM)") }
    }
  }
#endif
