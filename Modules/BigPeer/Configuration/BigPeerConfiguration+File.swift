#if Server
  import CRDTCore
  import Logging

  extension BigPeerConfiguration {
    /// Reads a configuration file.
    ///
    /// - Parameters:
    ///   - object: The file.
    ///   - other: The data directory, if given; it overrides the file.
    /// - Throws: The first mistake, with file and line.
    init(_ object: ConfigurationObject, data other: String?) throws(ConfigurationError) {
      var object = object
      let named = try object.filePath("data")
      guard let data = other ?? named else {
        throw object.fault("data", "is missing: name the directory with all that the big peer keeps")
      }
      self.init(data: data)
      places = object.places()
      if let all = try object.objects("applications") {
        applications = []
        for application in all {
          applications.append(try Application(application, data: data))
        }
        guard !applications.isEmpty else {
          throw object.fault("applications", "must name at least one application")
        }
      }
      if let http = try object.object("http") { self.http = try HTTP(http) }
      if let admin = try object.object("admin") { self.admin = try Admin(admin) }
      if let text = try object.text("logLevel") {
        guard let level = Logger.Level(rawValue: text) else {
          throw object.fault("logLevel", Self.levelExpectation)
        }
        logLevel = level
      }
      stopTime = try object.duration("stopTime", in: .seconds(0) ... .seconds(600)) ?? stopTime
      try object.finish()
    }

    /// The message that lists the valid log levels.
    static var levelExpectation: String {
      "must be one of \(Logger.Level.allCases.map(\.rawValue).joined(separator: ", "))"
    }
  }

  extension BigPeerConfiguration.Application {
    fileprivate init(_ object: ConfigurationObject, data: String) throws(ConfigurationError) {
      var object = object
      let id = try object.requiredText("id")
      guard id.utf8.count <= 128 else { throw object.fault("id", "must have at most 128 bytes") }
      let named = try object.filePath("folder")
      guard let folder = named ?? Self.folder(of: id, in: data) else {
        throw object.fault(
          "folder", "is missing: the id is no name of a directory, so name the directory of the store")
      }
      self.init(id: id, folder: folder)
      name = try object.text("name") ?? name
      trustsCopies = try object.flag("trustCopies") ?? trustsCopies
      if let login = try object.object("login") {
        self.login = try BigPeerConfiguration.Login(login)
        identity = .intermediate
      }
      if let identity = try object.object("identity") {
        self.identity = try BigPeerConfiguration.Identity(identity)
      }
      if var devices = try object.object("devices") {
        self.devices = try devices.addresses("listen") ?? self.devices
        webSockets = try devices.addresses("webSocket") ?? webSockets
        webProxies = try devices.ipAddresses("webProxies") ?? []
        try devices.finish()
      }
      subscriptions = try object.texts("subscribe") ?? subscriptions
      pullsKnownCollections = try object.flag("pullKnownCollections") ?? pullsKnownCollections
      if let limits = try object.object("limits") {
        self.limits = try BigPeerConfiguration.ApplicationLimits(limits)
      }
      if let feed = try object.object("feed") { self.feed = try FeedSettings(feed) }
      try object.finish()
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
    fileprivate init(_ object: ConfigurationObject) throws(ConfigurationError) {
      var object = object
      switch try object.requiredText("kind") {
      case "sharedKey": self = .sharedKey(file: try object.existingFile("key"))
      case "certificate":
        guard let authority = try object.existingFile("authority") else {
          throw object.fault("authority", "is missing: name the file with the authority's certificate")
        }
        guard let certificate = try object.existingFile("certificate") else {
          throw object.fault("certificate", "is missing: name the file with this peer's certificate")
        }
        self = .certificate(authority: authority, certificate: certificate)
      case "intermediate": self = .intermediate
      case "development": self = .development
      default: throw object.fault("kind", "must be one of sharedKey, certificate, intermediate, development")
      }
      try object.finish()
    }
  }

  extension BigPeerConfiguration.ApplicationLimits {
    fileprivate init(_ object: ConfigurationObject) throws(ConfigurationError) {
      var object = object
      self.init()
      sessions = try object.integer("sessions", in: 1...100_000) ?? sessions
      deviceMemoryBytes =
        try object.bytes("deviceMemory", in: 1 << 20...1 << 34) ?? deviceMemoryBytes
      allDevicesMemoryBytes =
        try object.bytes("allDevicesMemory", in: 1 << 20...1 << 40) ?? allDevicesMemoryBytes
      mapBytes = try object.bytes("dataBytes", in: 1 << 20...1 << 46) ?? mapBytes
      try object.finish()
    }
  }

  extension BigPeerConfiguration.HTTP {
    fileprivate init(_ object: ConfigurationObject) throws(ConfigurationError) {
      var object = object
      self.init()
      listen = try object.listener(listen)
      if let tls = try object.object("tls") { self.tls = try BigPeerConfiguration.TLS(tls) }
      for origin in try object.texts("origins") ?? [] {
        guard Self.isOrigin(origin) else {
          throw object.fault(
            "origins", "\(origin) is no origin: https://host or https://host:port, without a path")
        }
        origins.insert(origin)
      }
      proxies = try object.ipAddresses("proxies") ?? []
      if let limits = try object.object("limits") { self.limits = try HTTPLimits(limits) }
      try object.finish()
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
    fileprivate init(_ object: ConfigurationObject) throws(ConfigurationError) {
      var object = object
      guard let certificate = try object.existingFile("certificate") else {
        throw object.fault("certificate", "is missing: name the file with the certificate")
      }
      guard let key = try object.existingFile("key") else {
        throw object.fault("key", "is missing: name the file with the private key")
      }
      self.init(certificate: certificate, key: key)
      try object.finish()
    }
  }

  extension BigPeerConfiguration.Admin {
    fileprivate init(_ object: ConfigurationObject) throws(ConfigurationError) {
      var object = object
      listen = try object.listener(listen)
      try object.finish()
    }
  }

  extension HTTPLimits {
    fileprivate init(_ object: ConfigurationObject) throws(ConfigurationError) {
      var object = object
      self.init()
      let times = Duration.milliseconds(100)...Duration.seconds(3_600)
      bodyBytes = try object.bytes("body", in: 1 << 10...1 << 30) ?? bodyBytes
      headerBytes = try object.bytes("headers", in: 1 << 10...80 << 10) ?? headerBytes
      headerCount = try object.integer("headerCount", in: 8...1_000) ?? headerCount
      rows = try object.integer("rows", in: 1...1_000_000_000) ?? rows
      answerBytes = try object.bytes("answer", in: 1 << 10...1 << 30) ?? answerBytes
      statementTime = try object.duration("statementTime", in: times) ?? statementTime
      idleTime = try object.duration("idleTime", in: times) ?? idleTime
      bodyTime = try object.duration("bodyTime", in: times) ?? bodyTime
      stallTime = try object.duration("stallTime", in: times) ?? stallTime
      connections = try object.integer("connections", in: 1...100_000) ?? connections
      connectionsByAddress =
        try object.integer("connectionsByAddress", in: 1...100_000) ?? connectionsByAddress
      requests = try object.integer("requests", in: 1...100_000) ?? requests
      requestsByKey = try object.integer("requestsByKey", in: 1...100_000) ?? requestsByKey
      allBodyBytes = try object.bytes("allBodies", in: 1 << 20...1 << 40) ?? allBodyBytes
      statementBytes = try object.bytes("statementMemory", in: 1 << 20...1 << 34) ?? statementBytes
      requestsPerSecondByKey =
        try object.integer("requestsPerSecondByKey", in: 1...1_000_000) ?? requestsPerSecondByKey
      requestsPerSecondByAddress =
        try object.integer("requestsPerSecondByAddress", in: 1...1_000_000) ?? requestsPerSecondByAddress
      try object.finish()
    }
  }
#endif
