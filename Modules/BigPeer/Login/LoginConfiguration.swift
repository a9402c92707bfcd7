#if Server
  import CRDTCore
  import Links

  extension BigPeerConfiguration {
    /// The login endpoint of an application, at which its devices exchange tokens for certificates.
    public struct Login: Sendable, Hashable {
      /// Where the private key of the intermediate authority comes from.
      public enum AuthoritySource: Sendable, Hashable {
        /// A file that only its owner can read.
        case file(String)
        /// The standard output of a program: its absolute path, and its arguments.
        case command([String])
      }

      /// The source of the secret that signs requests to the webhook.
      public enum SecretSource: Sendable, Hashable {
        /// A file that only its owner can read.
        case file(String)
        /// An environment variable, by its name.
        case environment(String)
      }

      /// The public URL for devices, such as `https://host/path`.
      ///
      /// Devices sign for this URL, and the HTTP listener serves its path.
      public var url: String
      /// The URL where the application verifies tokens: `https://…`, or `http://127.0.0.1:…` on this machine.
      public var webhook: String
      /// The file with the authorities (PEM) for the webhook's certificate; `nil` uses the system's.
      public var webhookAuthority: String?
      /// The secret that signs requests to the webhook; `nil` leaves them unsigned.
      public var webhookSecret: SecretSource?
      /// The intermediate authority that issues certificates.
      public var authority: AuthoritySource
      /// The maximum validity of a certificate, whatever the webhook requests.
      public var longestValidity = Duration.seconds(30 * 86_400)
      /// Limits for its clients.
      public var limits = LoginLimits()

      /// Makes a configuration from the required settings.
      public init(url: String, webhook: String, authority: AuthoritySource) {
        self.url = url
        self.webhook = webhook
        self.authority = authority
      }
    }

    /// Limits of logins.
    public struct LoginLimits: Sendable, Hashable {
      /// The burst limit of requests from one address, for IPv6 from 64 bits of it; a login has two requests.
      public var requestsByAddress = 200
      /// The number of further such requests per second.
      public var requestsPerSecondByAddress = 10
      /// The burst limit of certificates for one user.
      public var loginsByUser = 20
      /// The number of further such certificates per hour.
      public var loginsPerHourByUser = 60
      /// The maximum number of concurrent requests to the webhook.
      public var questions = 64
      /// The number of issued certificates and revocations that the audit log keeps.
      public var auditedIssues = 1_000_000
      /// The number of refusals that the audit log keeps.
      public var auditedRefusals = 100_000

      /// The defaults.
      public init() {}
    }
  }

  extension BigPeerConfiguration.Login {
    /// The minimum validity of a certificate, in seconds.
    static let shortestValidity = 60
    /// The maximum time for the webhook's response.
    static let webhookTime = Duration.seconds(5)
    /// The maximum size of the webhook's response, in bytes.
    static let webhookBytes = 256 << 10

    /// Reads the login endpoint of an application.
    ///
    /// - Parameters:
    ///   - object: The member.
    ///   - mistakes: Gets all mistakes, with file and line.
    init(_ object: ConfigurationObject, _ mistakes: Mistakes) {
      var object = object
      let url = mistakes.collect { () throws -> String in
        let url = try object.requiredText("url")
        let path: String
        do throws(LoginError) {
          path = try HTTPSAddress(url).path
        } catch {
          throw object.fault("url", error.message)
        }
        guard Self.isPath(path) else {
          throw object.fault(
            "url", "the path may have letters, digits, '-', '.', '_' and '~' between slashes")
        }
        return url
      }
      let webhook = mistakes.collect { () throws -> String in
        let webhook = try object.requiredText("webhook")
        do throws(LoginError) {
          _ = try HTTPSAddress(orLoopback: webhook)
        } catch {
          throw object.fault("webhook", error.message)
        }
        return webhook
      }
      let authority = mistakes.collect { () throws -> AuthoritySource in
        guard let source = try object.object("authority") else {
          throw object.fault(
            "authority",
            "is missing: name the file of an intermediate authority, or the command that prints it"
          )
        }
        return try AuthoritySource(source)
      }
      self.init(url: url ?? "", webhook: webhook ?? "", authority: authority ?? .command([]))
      mistakes.collect { webhookAuthority = try object.existingFile("webhookAuthority") }
      mistakes.collect {
        if let secret = try object.object("webhookSecret") { webhookSecret = try SecretSource(secret) }
      }
      mistakes.collect {
        longestValidity =
          try object.duration(
            "longestValidity", in: .seconds(Self.shortestValidity) ... .seconds(366 * 86_400))
          ?? longestValidity
      }
      if let limits = mistakes.collect({ try object.object("limits") }) ?? nil {
        self.limits = BigPeerConfiguration.LoginLimits(limits, mistakes)
      }
      object.leftovers.forEach(mistakes.add)
    }

    /// Whether the HTTP listener can serve a path without encoding it.
    private static func isPath(_ path: String) -> Bool {
      path.utf8.allSatisfy {
        switch $0 {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
          UInt8(ascii: "~"), UInt8(ascii: "/"):
          true
        default: false
        }
      }
        && !path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().contains {
          ["", ".", ".."].contains($0)
        }
    }
  }

  extension BigPeerConfiguration.Login.AuthoritySource {
    fileprivate init(_ object: ConfigurationObject) throws(ConfigurationError) {
      var object = object
      switch (try object.existingFile("file"), try object.texts("command")) {
      case (let file?, nil): self = .file(file)
      case (nil, let command?):
        guard let program = command.first, program.hasPrefix("/") else {
          throw object.fault("command", "must begin with the absolute path of a program")
        }
        self = .command(command)
      case (nil, nil), (.some, .some):
        throw object.fault("file", "name either a file, or a command that prints it")
      }
      try object.finish()
    }
  }

  extension BigPeerConfiguration.Login.SecretSource {
    fileprivate init(_ object: ConfigurationObject) throws(ConfigurationError) {
      var object = object
      switch (try object.existingFile("file"), try object.text("environment")) {
      case (let file?, nil): self = .file(file)
      case (nil, let name?): self = .environment(name)
      case (nil, nil), (.some, .some):
        throw object.fault("file", "name either a file, or a variable of the environment")
      }
      try object.finish()
    }
  }

  extension BigPeerConfiguration.LoginLimits {
    fileprivate init(_ object: ConfigurationObject, _ mistakes: Mistakes) {
      var object = object
      mistakes.collect {
        requestsByAddress = try object.integer("requestsByAddress", in: 2...1_000_000) ?? requestsByAddress
      }
      mistakes.collect {
        requestsPerSecondByAddress =
          try object.integer("requestsPerSecondByAddress", in: 1...1_000_000) ?? requestsPerSecondByAddress
      }
      mistakes.collect {
        loginsByUser = try object.integer("loginsByUser", in: 1...1_000_000) ?? loginsByUser
      }
      mistakes.collect {
        loginsPerHourByUser =
          try object.integer("loginsPerHourByUser", in: 1...1_000_000) ?? loginsPerHourByUser
      }
      mistakes.collect { questions = try object.integer("questions", in: 1...10_000) ?? questions }
      mistakes.collect {
        auditedIssues = try object.integer("auditedIssues", in: 1_000...100_000_000) ?? auditedIssues
      }
      mistakes.collect {
        auditedRefusals = try object.integer("auditedRefusals", in: 1_000...100_000_000) ?? auditedRefusals
      }
      object.leftovers.forEach(mistakes.add)
    }
  }
#endif
