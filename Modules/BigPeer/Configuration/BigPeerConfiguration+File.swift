#if Server
  import CRDTCore
  import Links
  import Logging

  extension BigPeerConfiguration {
    /// Reads a configuration file.
    ///
    /// - Parameters:
    ///   - object: The file.
    ///   - other: The data directory, if given; it overrides the file.
    ///   - mistakes: Gets all mistakes, with file and line.
    init(_ object: ConfigurationObject, data other: String?, _ mistakes: Mistakes) {
      var object = object
      let data = mistakes.collect { () throws -> String in
        let named = try object.filePath("data")
        guard let data = other ?? named else {
          throw object.fault("data", "is missing: name the directory with all that the big peer keeps")
        }
        return data
      }
      self.init(data: data ?? other ?? "")
      places = object.places()
      if let all = mistakes.collect({ try object.objects("applications") }) ?? nil {
        applications = all.map { Application($0, data: self.data, mistakes) }
        if all.isEmpty { mistakes.add(object.fault("applications", "must name at least one application")) }
      }
      if let http = mistakes.collect({ try object.object("http") }) ?? nil {
        self.http = HTTP(http, mistakes)
      }
      if let admin = mistakes.collect({ try object.object("admin") }) ?? nil {
        self.admin = Admin(admin, mistakes)
      }
      if var monitor = mistakes.collect({ try object.object("monitor") }) ?? nil {
        mistakes.collect { self.monitor.listen = try monitor.address("listen") }
        monitor.leftovers.forEach(mistakes.add)
      }
      if let text = mistakes.collect({ try object.text("logLevel") }) ?? nil {
        if let level = Logger.Level(rawValue: text) {
          logLevel = level
        } else {
          mistakes.add(object.fault("logLevel", Self.levelExpectation))
        }
      }
      if let text = mistakes.collect({ try object.text("logFormat") }) ?? nil {
        if let format = LogFormat(rawValue: text) {
          logFormat = format
        } else {
          mistakes.add(object.fault("logFormat", Self.formatExpectation))
        }
      }
      mistakes.collect {
        stopTime = try object.duration("stopTime", in: .seconds(0) ... .seconds(600)) ?? stopTime
      }
      object.leftovers.forEach(mistakes.add)
    }

    /// The message that lists the valid log formats.
    static var formatExpectation: String {
      "must be one of \(LogFormat.allCases.map(\.rawValue).joined(separator: ", "))"
    }

    /// The message that lists the valid log levels.
    static var levelExpectation: String {
      "must be one of \(Logger.Level.allCases.map(\.rawValue).joined(separator: ", "))"
    }
  }

  extension BigPeerConfiguration.Application {
    private static let invisible = "must have no control characters and no invisible ones"

    fileprivate init(_ object: ConfigurationObject, data: String, _ mistakes: Mistakes) {
      var object = object
      let id = mistakes.collect { () throws -> String in
        let id = try object.requiredText("id")
        guard id.utf8.count <= 128 else { throw object.fault("id", "must have at most 128 bytes") }
        guard PlainText.isVisible(id) else { throw object.fault("id", Self.invisible) }
        return id
      }
      let folder = mistakes.collect { () throws -> String in
        let named = try object.filePath("folder")
        // Without an id there is no directory of its name, and that is one mistake.
        guard let folder = named ?? id.map({ Self.folder(of: $0, in: data) }) ?? "" else {
          throw object.fault(
            "folder", "is missing: the id is no name of a directory, so name the directory of the store")
        }
        return folder
      }
      self.init(id: id ?? "", folder: folder ?? "")
      mistakes.collect {
        name = try object.text("name") ?? name
        guard PlainText.isVisible(name) else { throw object.fault("name", Self.invisible) }
      }
      mistakes.collect { trustsCopies = try object.flag("trustCopies") ?? trustsCopies }
      if let login = mistakes.collect({ try object.object("login") }) ?? nil {
        self.login = BigPeerConfiguration.Login(login, mistakes)
        identity = .intermediate
      }
      if let identity = mistakes.collect({ try object.object("identity") }) ?? nil {
        self.identity =
          mistakes.collect { try BigPeerConfiguration.Identity(identity, mistakes) } ?? self.identity
      }
      if var devices = mistakes.collect({ try object.object("devices") }) ?? nil {
        mistakes.collect { self.devices = try devices.addresses("listen") ?? self.devices }
        mistakes.collect { webSockets = try devices.addresses("webSocket") ?? webSockets }
        mistakes.collect { webProxies = try devices.ipAddresses("webProxies") ?? [] }
        devices.leftovers.forEach(mistakes.add)
      }
      mistakes.collect { subscriptions = try object.texts("subscribe") ?? subscriptions }
      mistakes.collect {
        pullsKnownCollections = try object.flag("pullKnownCollections") ?? pullsKnownCollections
      }
      if let limits = mistakes.collect({ try object.object("limits") }) ?? nil {
        self.limits = BigPeerConfiguration.ApplicationLimits(limits, mistakes)
      }
      if let feed = mistakes.collect({ try object.object("feed") }) ?? nil {
        self.feed = FeedSettings(feed, mistakes)
      }
      object.leftovers.forEach(mistakes.add)
    }

    /// The default directory, for an id that is a valid directory name.
    static func folder(of id: String, in data: String) -> String? {
      let isName =
        !id.hasPrefix(".")
        && id.utf8.allSatisfy {
          switch $0 {
          case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
          default: false
          }
        }
      return isName && !id.isEmpty ? BigPeerConfiguration.folder(of: id, in: data) : nil
    }
  }

  extension BigPeerConfiguration.Identity {
    /// Reads an identity.
    ///
    /// - Throws: A mistake that leaves no identity; others are recorded.
    fileprivate init(
      _ object: ConfigurationObject, _ mistakes: Mistakes
    ) throws(ConfigurationError) {
      var object = object
      switch try object.requiredText("kind") {
      case "sharedKey": self = .sharedKey(file: mistakes.collect { try object.existingFile("key") } ?? nil)
      case "certificate":
        let authority = mistakes.collect {
          try object.requiredFile("authority", "the file with the authority's certificate")
        }
        let certificate = mistakes.collect {
          try object.requiredFile("certificate", "the file with this peer's certificate")
        }
        self = .certificate(authority: authority ?? "", certificate: certificate ?? "")
      case "intermediate": self = .intermediate
      case "development": self = .development
      default: throw object.fault("kind", "must be one of sharedKey, certificate, intermediate, development")
      }
      object.leftovers.forEach(mistakes.add)
    }
  }

  extension BigPeerConfiguration.ApplicationLimits {
    fileprivate init(_ object: ConfigurationObject, _ mistakes: Mistakes) {
      var object = object
      self.init()
      mistakes.collect { sessions = try object.integer("sessions", in: 1...100_000) ?? sessions }
      mistakes.collect {
        deviceMemoryBytes = try object.bytes("deviceMemory", in: 1 << 20...1 << 34) ?? deviceMemoryBytes
      }
      mistakes.collect {
        allDevicesMemoryBytes =
          try object.bytes("allDevicesMemory", in: 1 << 20...1 << 40) ?? allDevicesMemoryBytes
      }
      mistakes.collect { mapBytes = try object.bytes("dataBytes", in: 1 << 20...1 << 46) ?? mapBytes }
      mistakes.collect { refusesOversize = try object.flag("refuseOversize") ?? refusesOversize }
      mistakes.collect {
        tombstoneLifetime = try object.lifetime("tombstoneLifetime", isEndless: false) ?? tombstoneLifetime
      }
      mistakes.collect {
        let lifetime = try object.lifetime("certificateLifetime", isEndless: true)
        certificateLifetime = lifetime == .zero ? nil : lifetime
      }
      object.leftovers.forEach(mistakes.add)
    }
  }

  extension BigPeerConfiguration.HTTP {
    fileprivate init(_ object: ConfigurationObject, _ mistakes: Mistakes) {
      var object = object
      self.init()
      mistakes.collect { listen = try object.listener(listen) }
      if let tls = mistakes.collect({ try object.object("tls") }) ?? nil {
        self.tls = BigPeerConfiguration.TLS(tls, mistakes)
      }
      for origin in (mistakes.collect { try object.texts("origins") } ?? nil) ?? [] {
        if Self.isOrigin(origin) {
          origins.insert(origin)
        } else {
          mistakes.add(
            object.fault(
              "origins", "\(origin) is no origin: https://host or https://host:port, without a path"))
        }
      }
      mistakes.collect { proxies = try object.ipAddresses("proxies") ?? [] }
      if let text = mistakes.collect({ try object.text("proxyHeader") }) ?? nil {
        let header = BigPeerConfiguration.ProxyHeader.allCases.first {
          $0.rawValue.lowercased() == text.lowercased()
        }
        if let header {
          proxyHeader = header
        } else {
          mistakes.add(object.fault("proxyHeader", "must be X-Forwarded-For or Forwarded"))
        }
      }
      if let limits = mistakes.collect({ try object.object("limits") }) ?? nil {
        self.limits = HTTPLimits(limits, mistakes)
      }
      object.leftovers.forEach(mistakes.add)
    }

    private static func isOrigin(_ text: String) -> Bool {
      let rest: Substring
      if text.hasPrefix("https://") {
        rest = text.dropFirst(8)
      } else if text.hasPrefix("http://") {
        rest = text.dropFirst(7)
      } else {
        return false
      }
      return !rest.isEmpty && !rest.contains("/")
        && rest.utf8.allSatisfy { (0x21..<0x7F).contains($0) && $0 != UInt8(ascii: "*") }
    }
  }

  extension BigPeerConfiguration.TLS {
    fileprivate init(_ object: ConfigurationObject, _ mistakes: Mistakes) {
      var object = object
      let certificate = mistakes.collect {
        try object.requiredFile("certificate", "the file with the certificate")
      }
      let key = mistakes.collect { try object.requiredFile("key", "the file with the private key") }
      self.init(certificate: certificate ?? "", key: key ?? "")
      object.leftovers.forEach(mistakes.add)
    }
  }

  extension BigPeerConfiguration.Admin {
    fileprivate init(_ object: ConfigurationObject, _ mistakes: Mistakes) {
      var object = object
      mistakes.collect { listen = try object.listener(listen) }
      mistakes.collect { hasControlSocket = try object.flag("controlSocket") ?? hasControlSocket }
      object.leftovers.forEach(mistakes.add)
    }
  }

  extension HTTPLimits {
    fileprivate init(_ object: ConfigurationObject, _ mistakes: Mistakes) {
      var object = object
      self.init()
      let times = Duration.milliseconds(100)...Duration.seconds(3_600)
      mistakes.collect { bodyBytes = try object.bytes("body", in: 1 << 10...1 << 30) ?? bodyBytes }
      mistakes.collect { headerBytes = try object.bytes("headers", in: 1 << 10...80 << 10) ?? headerBytes }
      mistakes.collect { headerCount = try object.integer("headerCount", in: 8...1_000) ?? headerCount }
      mistakes.collect { rows = try object.integer("rows", in: 1...1_000_000_000) ?? rows }
      mistakes.collect { answerBytes = try object.bytes("answer", in: 1 << 10...1 << 30) ?? answerBytes }
      mistakes.collect { statementTime = try object.duration("statementTime", in: times) ?? statementTime }
      mistakes.collect { idleTime = try object.duration("idleTime", in: times) ?? idleTime }
      mistakes.collect { bodyTime = try object.duration("bodyTime", in: times) ?? bodyTime }
      mistakes.collect { stallTime = try object.duration("stallTime", in: times) ?? stallTime }
      mistakes.collect { connections = try object.integer("connections", in: 1...100_000) ?? connections }
      mistakes.collect {
        connectionsByAddress =
          try object.integer("connectionsByAddress", in: 1...100_000) ?? connectionsByAddress
      }
      mistakes.collect { requests = try object.integer("requests", in: 1...100_000) ?? requests }
      mistakes.collect {
        requestsByKey = try object.integer("requestsByKey", in: 1...100_000) ?? requestsByKey
      }
      mistakes.collect { allBodyBytes = try object.bytes("allBodies", in: 1 << 20...1 << 40) ?? allBodyBytes }
      mistakes.collect {
        allAnswerBytes = try object.bytes("allAnswers", in: 32 << 20...1 << 40) ?? allAnswerBytes
      }
      mistakes.collect {
        allStatementBytes = try object.bytes("allStatementMemory", in: 1 << 20...1 << 40) ?? allStatementBytes
      }
      mistakes.collect {
        statementBytes = try object.bytes("statementMemory", in: 1 << 20...1 << 34) ?? statementBytes
      }
      mistakes.collect {
        keptAnswers = try object.integer("keptAnswers", in: 2...1_000_000_000) ?? keptAnswers
      }
      mistakes.collect {
        keptAnswerBytes = try object.bytes("keptAnswerBytes", in: 1 << 20...1 << 46) ?? keptAnswerBytes
      }
      mistakes.collect {
        requestsPerSecondByKey =
          try object.integer("requestsPerSecondByKey", in: 1...1_000_000) ?? requestsPerSecondByKey
      }
      mistakes.collect {
        requestsPerSecondByAddress =
          try object.integer("requestsPerSecondByAddress", in: 1...1_000_000) ?? requestsPerSecondByAddress
      }
      object.leftovers.forEach(mistakes.add)
    }
  }
#endif
