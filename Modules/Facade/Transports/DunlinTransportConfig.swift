/// How a database meets other peers.
///
/// All is off in a new one. What `listen(host:port:)`, `connect(host:port:)` and their like are called for comes beside it.
public struct DunlinTransportConfig: Hashable, Sendable {
  /// Peers that are found near by.
  public var peerToPeer = PeerToPeer()
  /// Where others may connect to.
  public var listen = Listen()
  /// Where this peer connects to.
  public var connect = Connect()
  /// What concerns all.
  public var global = Global()

  /// Everything off.
  public init() {}

  /// Peers that are found near by.
  public struct PeerToPeer: Hashable, Sendable {
    /// The local network.
    public var lan = LAN()
    /// Bluetooth Low Energy, for which this release has no radio on any system.
    public var bluetoothLE = Switch()
    /// Apple's wireless link between devices, which this release does not use.
    public var awdl = Switch()
    /// Wi-Fi Aware, which this release does not use.
    public var wifiAware = Switch()

    /// Everything off.
    public init() {}
  }

  /// Something that is on or off.
  public struct Switch: Hashable, Sendable {
    public var isEnabled = false

    /// Everything off.
    public init() {}
  }

  /// Peers on the local network.
  public struct LAN: Hashable, Sendable {
    /// Whether peers on the local network are found and connected to.
    ///
    /// This peer then listens for all networks of the machine: on the port of `listen.tcp` where that is for all of them, else on a free
    /// port beside it.
    public var isEnabled = false
    /// Whether they are found by multicast DNS; without it the local network is of no use to this release.
    public var isMdnsEnabled = true

    /// Everything off.
    public init() {}
  }

  /// Where others may connect to.
  public struct Listen: Hashable, Sendable {
    /// By TCP.
    public var tcp = Address()
    /// By WebSocket, behind a web server or proxy that adds the outer TLS of `wss`.
    public var webSocket = Address()

    /// Everything off.
    public init() {}
  }

  /// An address to listen on.
  public struct Address: Hashable, Sendable {
    /// Whether this peer listens there.
    public var isEnabled = false
    /// The address of an interface: 127.0.0.1 is this machine only, 0.0.0.0 every network of it.
    public var interfaceIP = "127.0.0.1"
    /// The port, 0 for any free one; `listeningPorts` says which.
    public var port = 0

    /// Off.
    public init() {}
  }

  /// Where this peer connects to.
  public struct Connect: Hashable, Sendable {
    /// `host:port`; an IPv6 address stands in brackets.
    public var tcpServers: Set<String> = []
    /// `ws://…` or `wss://…`.
    public var webSocketURLs: Set<String> = []
    /// The longest time between two attempts to connect to one of them.
    public var retryInterval = Duration.seconds(30)

    /// Everything off.
    public init() {}
  }

  /// What concerns all.
  public struct Global: Hashable, Sendable {
    /// Peers near by find each other within a group only.
    ///
    /// It saves connections and protects nothing: whoever is given an address connects to it, whatever its group is.
    public var syncGroup: UInt32 = 0

    /// Everything off.
    public init() {}
  }
}
