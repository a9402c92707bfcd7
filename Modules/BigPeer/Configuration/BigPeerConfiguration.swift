#if Server
  public import Logging

  /// What a big peer is to be: its applications, the addresses that it listens on, and its limits.
  ///
  /// `Documentation/BigPeer.md` has every setting. The usual way to make one is ``load(_:)``.
  public struct BigPeerConfiguration: Sendable {
    /// The directory with all that the big peer keeps.
    public var data: String
    /// The applications, at least one; each has a store, an identity and limits of its own.
    public var applications: [Application]
    /// The HTTP API.
    public var http = HTTP()
    /// The listener for who runs the server.
    public var admin = Admin()
    /// Log lines below this level are not written.
    public var logLevel = Logger.Level.info
    /// How long requests in flight may take to end at a stop.
    public var stopTime = Duration.seconds(10)
    var places = SettingPlaces()

    /// Makes a configuration of one application.
    ///
    /// - Parameters:
    ///   - data: The directory with all that the big peer keeps; it is made if need be.
    ///   - application: The application's id.
    public init(data: String, application: String = Application.defaultID) {
      self.data = data
      applications = [Application(id: application, folder: Self.folder(of: application, in: data))]
    }

    /// Where an application's files are.
    static func folder(of application: String, in data: String) -> String {
      "\(data)/applications/\(application)"
    }

    /// One application.
    public struct Application: Sendable {
      /// The id of the application that a server without a configuration has.
      public static let defaultID = "default"

      /// What its peers call the application, 1 to 128 bytes.
      public var id: String
      /// The directory with the application's store and keys.
      public var folder: String
      /// What this peer calls itself.
      public var name = "bigpeer"
      /// Whether a store whose files were copied goes on as the peer that it was: for one that is moved, and whose original is never
      /// opened again.
      public var trustsCopies = false
      /// How this peer proves that it belongs to the application.
      public var identity = Identity.sharedKey(file: nil)
      /// Where devices connect to by TCP.
      public var devices = [ListenAddress(host: "127.0.0.1", port: 4_040)]
      /// Where devices connect to by WebSocket, behind a web proxy.
      public var webSockets: [ListenAddress] = []
      /// The addresses of web proxies whose `X-Forwarded-For` is believed.
      public var webProxies: Set<String> = []
      /// What is pulled from devices: collections, or `SELECT * FROM c WHERE …`.
      public var subscriptions: [String] = []
      /// Whether every collection is pulled too that exists here.
      public var pullsKnownCollections = true
      /// Where devices log in; `nil` is nowhere.
      public var login: Login?
      /// Bounds of what it takes.
      public var limits = ApplicationLimits()
      /// Bounds of its change feed.
      public var feed = FeedSettings()

      /// Makes an application with the default settings.
      public init(id: String, folder: String) {
        self.id = id
        self.folder = folder
      }
    }

    /// How a big peer proves that it belongs to an application.
    public enum Identity: Sendable, Hashable {
      /// By the key that all peers of the application share; without a file, one is made at the first start.
      case sharedKey(file: String?)
      /// By a certificate of the application's authority.
      case certificate(authority: String, certificate: String)
      /// By a certificate that the intermediate authority of the login endpoint issues at each start.
      case intermediate
      /// By nothing, and nothing is encrypted: for development on loopback.
      case development
    }

    /// Bounds of what one application takes.
    public struct ApplicationLimits: Sendable, Hashable {
      /// Devices that are connected at once.
      public var sessions = 2_000
      /// Bytes in memory that one device may take.
      public var deviceMemoryBytes = 16 << 20
      /// Bytes in memory that all devices may take.
      public var allDevicesMemoryBytes = 256 << 20
      /// Address space that is reserved for the data, which is also about the most that it may grow to.
      public var mapBytes = 64 << 30
    }

    /// The listener of the HTTP API.
    public struct HTTP: Sendable {
      /// Where it listens; `nil` is nowhere.
      public var listen: ListenAddress? = ListenAddress(host: "127.0.0.1", port: 8_080)
      /// The server's certificate, without which it listens on loopback only.
      public var tls: TLS?
      /// The origins of web pages that may call it from a browser, such as `https://example.org`; none by default.
      public var origins: Set<String> = []
      /// The addresses of web proxies whose `X-Forwarded-For` is believed.
      public var proxies: Set<String> = []
      /// Bounds of what it takes.
      public var limits = HTTPLimits()

      /// Listens on port 8080 of this machine alone.
      public init() {}
    }

    /// The certificate of a listener.
    public struct TLS: Sendable, Hashable {
      /// The file with the certificate, and after it those between it and its authority's (PEM).
      public var certificate: String
      /// The file with the private key (PEM).
      public var key: String

      /// Names the two files.
      public init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
      }
    }

    /// The listener for who runs the server.
    public struct Admin: Sendable {
      /// Where it listens, which must be loopback; `nil` is nowhere.
      public var listen: ListenAddress? = ListenAddress(host: "127.0.0.1", port: 8_081)
    }
  }
#endif
