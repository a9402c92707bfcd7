#if Server
  public import Logging

  /// The configuration of a big peer: its applications, the addresses that it listens on, and its limits.
  ///
  /// `Documentation/BigPeer.md` describes every setting. The usual way to make one is ``load(_:)``.
  public struct BigPeerConfiguration: Sendable {
    /// The directory with all data of the big peer.
    public var data: String
    /// The applications, at least one; each has a store, an identity and limits of its own.
    public var applications: [Application]
    /// The HTTP API.
    public var http = HTTP()
    /// The administrator's listener.
    public var admin = Admin()
    /// The listener for monitoring.
    public var monitor = Monitor()
    /// Log lines below this level are not written.
    public var logLevel = Logger.Level.info
    /// How the program writes log lines; in an application its own logger decides.
    public var logFormat = LogFormat.text
    /// How long requests in flight may take to finish at a stop.
    public var stopTime = Duration.seconds(10)
    var places = SettingPlaces()

    /// Makes a configuration of one application.
    ///
    /// - Parameters:
    ///   - data: The directory with all data of the big peer; it is created if necessary.
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
    public struct Application: Sendable, Hashable {
      /// The id of the application that a server without a configuration has.
      public static let defaultID = "default"

      /// The id of the application for its peers, 1 to 128 bytes.
      public var id: String
      /// The directory with the application's store and keys.
      public var folder: String
      /// This peer's name for others.
      public var name = "bigpeer"
      /// Whether a store whose files were copied keeps the identity of the original peer.
      ///
      /// Set this only for a store that was moved and whose original is never opened again.
      public var trustsCopies = false
      /// How this peer proves that it belongs to the application.
      public var identity = Identity.sharedKey(file: nil)
      /// Where devices connect over TCP.
      public var devices = [ListenAddress(host: "127.0.0.1", port: 4_040)]
      /// Where devices connect over WebSocket, behind a web proxy.
      public var webSockets: [ListenAddress] = []
      /// The addresses of web proxies whose `X-Forwarded-For` is trusted.
      public var webProxies: Set<String> = []
      /// What is pulled from devices: collections, or `SELECT * FROM c WHERE …`.
      public var subscriptions: [String] = []
      /// Whether every collection that exists here is also pulled.
      public var pullsKnownCollections = true
      /// Where devices log in; `nil` means nowhere.
      public var login: Login?
      /// Limits of the resources that devices may use.
      public var limits = ApplicationLimits()
      /// Limits of its change feed.
      public var feed = FeedSettings()

      /// Makes an application with the default settings.
      public init(id: String, folder: String) {
        self.id = id
        self.folder = folder
      }
    }

    /// How a big peer proves that it belongs to an application.
    public enum Identity: Sendable, Hashable {
      /// With the key that all peers of the application share.
      ///
      /// Without a file, a key is made at the first start.
      case sharedKey(file: String?)
      /// With a certificate of the application's authority.
      case certificate(authority: String, certificate: String)
      /// With a certificate that the intermediate authority of the login endpoint issues at each start.
      case intermediate
      /// Without proof and without encryption: for development on loopback.
      case development
    }

    /// Limits of the resources that one application may use.
    public struct ApplicationLimits: Sendable, Hashable {
      /// The maximum number of devices that are connected at once.
      public var sessions = 2_000
      /// The maximum memory for one device, in bytes.
      public var deviceMemoryBytes = 16 << 20
      /// The maximum memory for all devices, in bytes.
      public var allDevicesMemoryBytes = 256 << 20
      /// The address space that is reserved for the data, in bytes; the data can grow to about this size.
      public var mapBytes = 64 << 30
      /// Whether the HTTP API refuses a write that leaves a document too large to be sent.
      ///
      /// Such a document is above `Limits.hardDocumentBytes`, and no device that has nothing of it gets it.
      public var refusesOversize = false
      /// How long tombstones of deleted documents live, and the entries of the log: whole hours.
      public var tombstoneLifetime = Duration.seconds(30 * 86_400)
      /// How long the compacted tombstones that follow them live, in whole hours; `nil` means for ever.
      public var certificateLifetime: Duration?
    }

    /// The listener of the HTTP API.
    public struct HTTP: Sendable, Hashable {
      /// Where it listens; `nil` means nowhere.
      public var listen: ListenAddress? = ListenAddress(host: "127.0.0.1", port: 8_080)
      /// The server's certificate.
      ///
      /// Without one, the server listens only on loopback, or answers only the ``proxies``.
      public var tls: TLS?
      /// The origins of web pages that may call the API from a browser, such as `https://example.org`.
      ///
      /// None by default.
      public var origins: Set<String> = []
      /// The addresses and networks of web proxies that are trusted to report the address of a client.
      ///
      /// On an address beyond loopback, without a certificate, nobody else may connect.
      public var proxies: Set<String> = []
      /// The header in which the proxies report it.
      public var proxyHeader = ProxyHeader.forwardedFor
      /// Limits for its clients.
      public var limits = HTTPLimits()

      /// Makes a listener on port 8080 of this machine only.
      public init() {}
    }

    /// How log lines are written.
    public enum LogFormat: String, Sendable, Hashable, CaseIterable {
      /// Time, level, message, and fields as `name=value`.
      case text
      /// A JSON object.
      case json
    }

    /// The header in which web proxies report a client's address; another one may be the client's own.
    public enum ProxyHeader: String, Sendable, Hashable, CaseIterable {
      /// `X-Forwarded-For`, and `X-Forwarded-Proto` with the scheme.
      case forwardedFor = "X-Forwarded-For"
      /// `Forwarded` (RFC 7239).
      case forwarded = "Forwarded"
    }

    /// The certificate of a listener.
    public struct TLS: Sendable, Hashable {
      /// The file with the certificate, followed by those between it and its authority's (PEM).
      public var certificate: String
      /// The file with the private key (PEM).
      public var key: String

      /// Names the two files.
      public init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
      }
    }

    /// The administrator's listener.
    public struct Admin: Sendable, Hashable {
      /// Where it listens, which must be loopback; `nil` means nowhere.
      public var listen: ListenAddress? = ListenAddress(host: "127.0.0.1", port: 8_081)
      /// Whether processes of the same user work on the applications over a socket in the data directory.
      public var hasControlSocket = true
    }

    /// The listener for monitoring: `/healthz`, `/readyz` and `/metrics` alone, without a token.
    public struct Monitor: Sendable, Hashable {
      /// Where it listens, which may be any address; `nil` means nowhere.
      public var listen: ListenAddress?

      /// Makes one that is off.
      public init() {}
    }
  }
#endif
