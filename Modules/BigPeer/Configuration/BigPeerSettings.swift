#if Server
  /// Settings from flags and from the environment, which take the place of those in the file.
  public struct BigPeerSettings: Sendable {
    /// A setting's text, and what it comes from.
    struct Setting: Sendable {
      let source: String
      let text: String

      func fault(_ message: String) -> ConfigurationError { ConfigurationError(source, message) }
    }

    /// What can be set: the flag `--name` and the variable `BIGPEER_NAME`.
    public enum Name: String, Sendable, CaseIterable {
      case config, data, application, devices
      case webSocket = "websocket"
      case http, certificate, key, admin
      case logLevel = "log-level"

      /// The flag.
      public var flag: String { "--\(rawValue)" }

      /// The variable of the environment.
      public var variable: String {
        "BIGPEER_" + rawValue.uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
      }
    }

    private var settings: [Name: Setting] = [:]

    /// Nothing is set.
    public init() {}

    /// What the variables `BIGPEER_…` of the environment say; an empty one says nothing.
    ///
    /// - Parameter environment: The environment, by names of variables.
    public init(environment: [String: String]) {
      for name in Name.allCases {
        guard let text = environment[name.variable], !text.isEmpty else { continue }
        settings[name] = Setting(source: name.variable, text: text)
      }
    }

    /// Sets what a flag says; `nil` leaves all as it is.
    public mutating func set(_ name: Name, flag text: String?) {
      guard let text else { return }
      settings[name] = Setting(source: name.flag, text: text)
    }

    subscript(name: Name) -> Setting? { settings[name] }
  }
#endif
