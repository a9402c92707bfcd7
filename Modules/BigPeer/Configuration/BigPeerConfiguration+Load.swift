#if Server
  import Foundation
  import Links
  import Logging

  extension BigPeerConfiguration {
    /// The maximum size of a configuration file, in bytes.
    private static let fileBytes = 1 << 20

    /// Reads the configuration: defaults, overridden by the file, then the environment, then the flags.
    ///
    /// Of the environment, `BIGPEER__…` comes before the variables that have a flag.
    ///
    /// If no file is named, `bigpeer.json` in the data directory is read if it exists.
    /// - Parameter settings: The settings of flags and environment.
    /// - Returns: The configuration, checked.
    /// - Throws: All mistakes as one error, each with the file and the line, the flag or the variable.
    public static func load(_ settings: BigPeerSettings) throws(ConfigurationError) -> BigPeerConfiguration {
      let data = settings[.data].map { absolute($0.text) }
      let mistakes = Mistakes()
      var configuration: BigPeerConfiguration
      if let config = settings[.config] {
        configuration = try read(absolute(config.text), settings, mistakes) {
          config.fault("\(config.text): \($0)")
        }
      } else if let data, FileManager.default.fileExists(atPath: "\(data)/bigpeer.json") {
        let file = "\(data)/bigpeer.json"
        configuration = try read(file, settings, mistakes) { ConfigurationError(file, $0) }
      } else if !settings.overrides.isEmpty {
        let object = try ConfigurationObject(
          text: Array("{}".utf8), file: "the environment", overriding: settings.overrides)
        configuration = BigPeerConfiguration(object, data: data, mistakes)
      } else if let data {
        configuration = BigPeerConfiguration(data: data)
      } else {
        throw ConfigurationError(
          "\(BigPeerSettings.Name.data.flag)",
          "name the directory with all that the big peer keeps, or a configuration with \(BigPeerSettings.Name.config.flag)"
        )
      }
      configuration.apply(settings, mistakes)
      // What could not be read would have others not go together.
      try mistakes.check()
      try configuration.check()
      return configuration
    }

    private static func absolute(_ path: String) -> String {
      URL(filePath: path).absoluteURL.path(percentEncoded: false)
    }

    private static func read(
      _ file: String, _ settings: BigPeerSettings, _ mistakes: Mistakes,
      _ fault: (String) -> ConfigurationError
    ) throws(ConfigurationError) -> BigPeerConfiguration {
      let text: Data
      do {
        let handle = try FileHandle(forReadingFrom: URL(filePath: file))
        text = try handle.read(upToCount: fileBytes + 1) ?? Data()
      } catch {
        throw fault("the file cannot be read: \(error.localizedDescription)")
      }
      guard text.count <= fileBytes else { throw fault("the file has more than \(fileBytes) bytes") }
      return BigPeerConfiguration(
        try ConfigurationObject(text: Array(text), file: file, overriding: settings.overrides),
        data: settings[.data].map { absolute($0.text) }, mistakes)
    }

    // MARK: - Flags and environment

    private mutating func apply(_ settings: BigPeerSettings, _ mistakes: Mistakes) {
      if let setting = settings[.data] { places.record("data", flag: setting.source) }
      if let setting = settings[.application] {
        mistakes.collect {
          let application = try only(setting)
          guard let folder = Application.folder(of: setting.text, in: data), setting.text.utf8.count <= 128
          else {
            throw setting.fault(
              "an application's id of 1 to 128 letters, digits, '-', '_' and '.' is expected; name others in a configuration"
            )
          }
          applications[application].id = setting.text
          applications[application].folder = folder
          places.record("applications[\(application)].id", flag: setting.source)
        }
      }
      if let setting = settings[.devices] {
        mistakes.collect {
          let application = try only(setting)
          applications[application].devices = try Self.addresses(setting)
          places.record("applications[\(application)].devices.listen", flag: setting.source)
        }
      }
      if let setting = settings[.webSocket] {
        mistakes.collect {
          let application = try only(setting)
          applications[application].webSockets = try Self.addresses(setting)
          places.record("applications[\(application)].devices.webSocket", flag: setting.source)
        }
      }
      mistakes.collect { try applyCertificate(settings) }
      mistakes.collect { try applyLogFormat(settings) }
      if let setting = settings[.http] {
        mistakes.collect {
          http.listen = try Self.address(setting)
          places.record("http.listen", flag: setting.source)
        }
      }
      if let setting = settings[.proxies] {
        mistakes.collect {
          http.proxies = try Self.proxies(setting)
          places.record("http.proxies", flag: setting.source)
        }
      }
      if let setting = settings[.admin] {
        mistakes.collect {
          admin.listen = try Self.address(setting)
          places.record("admin.listen", flag: setting.source)
        }
      }
      if let setting = settings[.monitor] {
        mistakes.collect {
          monitor.listen = try Self.address(setting)
          places.record("monitor.listen", flag: setting.source)
        }
      }
      if let setting = settings[.logLevel] {
        if let level = Logger.Level(rawValue: setting.text) {
          logLevel = level
        } else {
          mistakes.add(setting.fault(Self.levelExpectation))
        }
      }
    }

    private mutating func applyLogFormat(_ settings: BigPeerSettings) throws(ConfigurationError) {
      guard let setting = settings[.logFormat] else { return }
      guard let format = LogFormat(rawValue: setting.text) else {
        throw setting.fault(Self.formatExpectation)
      }
      logFormat = format
    }

    private mutating func applyCertificate(_ settings: BigPeerSettings) throws(ConfigurationError) {
      if let certificate = settings[.certificate] {
        guard let key = settings[.key] else {
          throw certificate.fault("a certificate needs \(BigPeerSettings.Name.key.flag), its private key")
        }
        http.tls = TLS(certificate: try Self.file(certificate), key: try Self.file(key))
        places.record("http.tls.certificate", flag: certificate.source)
        places.record("http.tls.key", flag: key.source)
      } else if let key = settings[.key] {
        throw key.fault("a key needs \(BigPeerSettings.Name.certificate.flag), its certificate")
      }
    }

    /// The index of the only application.
    private func only(_ setting: BigPeerSettings.Setting) throws(ConfigurationError) -> Int {
      guard applications.count == 1 else {
        throw setting.fault(
          "there are \(applications.count) applications: say it in the configuration of each")
      }
      return 0
    }

    private static func address(_ setting: BigPeerSettings.Setting) throws(ConfigurationError)
      -> ListenAddress?
    {
      if setting.text == "off" { return nil }
      guard let address = ListenAddress(setting.text) else {
        throw setting.fault("\(setting.text): \(ListenAddress.expectation), or off")
      }
      return address
    }

    private static func addresses(
      _ setting: BigPeerSettings.Setting
    ) throws(ConfigurationError) -> [ListenAddress] {
      if setting.text == "off" { return [] }
      var addresses: [ListenAddress] = []
      for text in setting.text.split(separator: ",") {
        guard let address = ListenAddress(String(text)) else {
          throw setting.fault("\(text): \(ListenAddress.expectation); several are separated by commas")
        }
        addresses.append(address)
      }
      return addresses
    }

    private static func proxies(
      _ setting: BigPeerSettings.Setting
    ) throws(ConfigurationError) -> Set<String> {
      if setting.text == "off" { return [] }
      var proxies: Set<String> = []
      for text in setting.text.split(separator: ",") {
        guard let proxy = ProxyAddresses.canonical(String(text)) else {
          throw setting.fault("\(text) is no address: \(ListenAddress.proxyExpectation)")
        }
        proxies.insert(proxy)
      }
      return proxies
    }

    private static func file(_ setting: BigPeerSettings.Setting) throws(ConfigurationError) -> String {
      let path = absolute(setting.text)
      guard FileManager.default.isReadableFile(atPath: path) else {
        throw setting.fault("the file \(path) is not there, or cannot be read")
      }
      return path
    }
  }
#endif
