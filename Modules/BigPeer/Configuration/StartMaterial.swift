#if Server
  import Facade
  import NIOSSL
  import QueryEngine
  import Transports

  /// What a start needs beside the settings themselves: keys, certificates, secrets and queries, read and found right.
  ///
  /// `bigpeer check`, the start and a reload read it alike. Nothing is made and nothing is opened.
  struct StartMaterial: Sendable {
    /// The certificate of the HTTP listener.
    let certificate: CertifiedKey?
    /// In the configuration's order.
    let applications: [ApplicationMaterial]

    /// Looks at all of a configuration.
    ///
    /// - Throws: The first mistake, with the place of the setting.
    init(_ configuration: BigPeerConfiguration) async throws(ConfigurationError) {
      let places = configuration.places
      try configuration.check()
      if let fault = Directory.fault(configuration.data) { throw places.fault("data", fault) }
      if configuration.admin.listen != nil, let fault = AdminToken.fault(in: configuration.data) {
        throw places.fault("data", fault)
      }
      if configuration.http.listen != nil, let tls = configuration.http.tls {
        certificate = try CertifiedKey(tls, places)
      } else {
        certificate = nil
      }
      var applications: [ApplicationMaterial] = []
      for (index, application) in configuration.applications.enumerated() {
        let path = BigPeerConfiguration.path(index)
        applications.append(try await ApplicationMaterial(application, ApplicationPlaces(places, path)))
      }
      self.applications = applications
    }
  }

  extension BigPeerConfiguration {
    /// Reads all that a start needs, the files, programs and variables that the settings name too, and starts nothing.
    ///
    /// Whether ports are free and whether stores can be opened is seen at the start alone.
    /// - Throws: The first mistake, with the place of the setting: the file and the line, the flag or the variable.
    public func verify() async throws(ConfigurationError) { _ = try await StartMaterial(self) }
  }

  /// Where the settings of one application were said.
  struct ApplicationPlaces: Sendable {
    private let places: SettingPlaces
    private let path: String

    init(_ places: SettingPlaces, _ path: String) { (self.places, self.path) = (places, path) }

    /// A mistake in a setting of the application.
    func fault(_ setting: String, _ message: String) -> ConfigurationError {
      places.fault("\(path).\(setting)", message)
    }

    /// Reads what a setting names; what goes wrong is told with its place.
    func reading<R>(_ setting: String, _ body: () async throws -> R) async throws(ConfigurationError) -> R {
      do {
        return try await body()
      } catch {
        let error = DunlinError.translating(error)
        throw fault(setting, (error as? DunlinError)?.message ?? "\(error)")
      }
    }
  }

  /// What the files, programs and variables of one application hold.
  package struct ApplicationMaterial: Sendable {
    /// What the peer proves itself with.
    enum Identity: Sendable {
      /// `nil` is one that is made at the first start.
      case sharedKey(DunlinSharedKey?)
      case certificate(authority: String, certificate: String)
      case intermediate(LoginIssuer)
      case development
    }

    let identity: Identity
    /// The intermediate authority, where the application has a login endpoint.
    let issuer: LoginIssuer?
    /// Signs questions to the login webhook.
    let webhookSecret: String?
    let places: ApplicationPlaces

    /// Reads what an application needs that code has configured.
    package init(_ application: BigPeerConfiguration.Application) async throws(ConfigurationError) {
      try await self.init(application, ApplicationPlaces(SettingPlaces(), BigPeerConfiguration.path(0)))
    }

    init(
      _ application: BigPeerConfiguration.Application, _ places: ApplicationPlaces
    ) async throws(ConfigurationError) {
      self.places = places
      if let fault = Directory.fault(application.folder) { throw places.fault("folder", fault) }
      (issuer, webhookSecret) = try await Self.login(application, places)
      identity = try await Self.identity(application, issuer, places)
      if let path = application.feed.webhookAuthorities {
        try await places.reading("feed.webhookAuthorities") { try Self.checkAuthorities(path) }
      }
      for (index, text) in application.subscriptions.enumerated() {
        try await places.reading("subscribe[\(index)]") {
          do {
            _ = try SubscriptionQuery(dql: ApplicationInterest.statement(text), isRestricted: true)
          } catch {
            // With line and column.
            throw BigPeerError("\(DunlinError.translating(error))")
          }
        }
      }
    }

    private static func login(
      _ application: BigPeerConfiguration.Application, _ places: ApplicationPlaces
    ) async throws(ConfigurationError) -> (LoginIssuer?, String?) {
      guard let login = application.login else { return (nil, nil) }
      let issuer = try await places.reading("login.authority") {
        let issuer = try LoginIssuer(login.authority, application: application.id)
        // Whether devices would believe what it issues.
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

    /// Sees to it that devices would believe the certificate.
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
    }

    /// Sees to it that a file has authorities that certificates of web services can be verified against.
    private static func checkAuthorities(_ path: String) throws {
      let found = try? NIOSSLCertificate.fromPEMFile(path)
      guard found?.isEmpty == false else { throw BigPeerError("the file \(path) has no certificate (PEM)") }
    }
  }
#endif
