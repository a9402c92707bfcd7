/// How a database connects with other peers.
///
/// A new configuration has everything off. `listen(host:port:)`, `connect(host:port:)` and similar calls work
/// in addition to it.
public struct DunlinTransportConfig: Hashable, Sendable {
  /// Discovery of nearby peers.
  public var peerToPeer = PeerToPeer()
  /// Where other peers may connect.
  public var listen = Listen()
  /// Where this peer connects.
  public var connect = Connect()
  /// Settings that apply to all transports.
  public var global = Global()

  /// Everything off.
  public init() {}

  /// Discovery of nearby peers.
  public struct PeerToPeer: Hashable, Sendable {
    /// The local network.
    public var lan = LAN()
    /// Bluetooth Low Energy; this release has no radio for it on any system.
    public var bluetoothLE = Switch()
    /// Apple's wireless link between devices; this release does not use it.
    public var awdl = Switch()
    /// Wi-Fi Aware; this release does not use it.
    public var wifiAware = Switch()

    /// Everything off.
    public init() {}
  }

  /// A setting that is on or off.
  public struct Switch: Hashable, Sendable {
    public var isEnabled = false

    /// Everything off.
    public init() {}
  }

  /// Peers on the local network.
  public struct LAN: Hashable, Sendable {
    /// Whether this peer finds peers on the local network and connects to them.
    ///
    /// This peer then listens on all networks of the machine. It uses the port of `listen.tcp` if that
    /// listens on all networks; otherwise it uses an additional free port.
    public var isEnabled = false
    /// Whether peers are found by multicast DNS.
    ///
    /// Without it, this release finds no peers on the local network.
    public var isMdnsEnabled = true

    /// Everything off.
    public init() {}
  }

  /// Where other peers may connect.
  public struct Listen: Hashable, Sendable {
    /// Over TCP.
    public var tcp = Address()
    /// Over WebSocket, behind a web server or proxy that adds the outer TLS of `wss`.
    public var webSocket = Address()

    /// Everything off.
    public init() {}
  }

  /// An address to listen on.
  public struct Address: Hashable, Sendable {
    /// Whether this peer listens there.
    public var isEnabled = false
    /// The address of an interface: 127.0.0.1 is only this machine, 0.0.0.0 is every network of it.
    public var interfaceIP = "127.0.0.1"
    /// The port; 0 chooses any free port, which `listeningPorts` returns.
    public var port = 0

    /// Off.
    public init() {}
  }

  /// Where this peer connects.
  public struct Connect: Hashable, Sendable {
    /// Addresses `host:port`; an IPv6 address is in brackets.
    public var tcpServers: Set<String> = []
    /// Addresses `ws://…` or `wss://…`.
    public var webSocketURLs: Set<String> = []
    /// The longest time between two attempts to connect to one of the addresses.
    public var retryInterval = Duration.seconds(30)

    /// Everything off.
    public init() {}
  }

  /// Settings that apply to all transports.
  public struct Global: Hashable, Sendable {
    /// The group of this peer: nearby peers discover only members of their own group.
    ///
    /// The group saves connections and protects nothing: a peer that is given an address connects to it,
    /// whatever its group is.
    public var syncGroup: UInt32 = 0

    /// Everything off.
    public init() {}
  }
}
