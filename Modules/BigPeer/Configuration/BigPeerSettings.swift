#if Server
  /// Settings from flags and from the environment, which override those in the file.
  public struct BigPeerSettings: Sendable {
    /// A setting's text, and its source.
    struct Setting: Sendable {
      let source: String
      let text: String

      func fault(_ message: String) -> ConfigurationError { ConfigurationError(source, message) }
    }

    /// The names of settings: the flag `--name` and the variable `BIGPEER_NAME`.
    public enum Name: String, Sendable, CaseIterable {
      case config, data, application, devices
      case webSocket = "websocket"
      case http, certificate, key, proxies, admin, monitor
      case logLevel = "log-level"
      case logFormat = "log-format"

      /// The flag.
      public var flag: String { "--\(rawValue)" }

      /// The environment variable.
      public var variable: String {
        "BIGPEER_" + rawValue.uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
      }
    }

    private var settings: [Name: Setting] = [:]
    /// Settings of the file that variables override, in the order in which they apply.
    private(set) var overrides: [SettingOverride] = []

    /// Makes settings without any value.
    public init() {}

    /// Reads the environment variables `BIGPEER_…` and `BIGPEER__…`; empty ones are ignored.
    ///
    /// - Parameter environment: The environment, by names of variables.
    public init(environment: [String: String]) {
      for name in Name.allCases {
        guard let text = environment[name.variable], !text.isEmpty else { continue }
        settings[name] = Setting(source: name.variable, text: text)
      }
      overrides = SettingOverride.all(in: environment)
    }

    /// Sets the value of a flag; `nil` changes nothing.
    public mutating func set(_ name: Name, flag text: String?) {
      guard let text else { return }
      settings[name] = Setting(source: name.flag, text: text)
    }

    subscript(name: Name) -> Setting? { settings[name] }
  }
#endif
