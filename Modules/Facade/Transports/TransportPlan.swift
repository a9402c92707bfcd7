import Links

/// The network operations that a valid transport configuration asks for.
struct TransportPlan {
  var listening: Set<ListeningAddress> = []
  var dialing: Set<LinkAddress> = []
  var longestDelay = Duration.seconds(30)
  /// The group whose nearby members are discovered; `nil` when discovery is off.
  var discoveredGroup: UInt32?

  init() {}

  /// - Throws: `argument` or `unreachable` with the mistake; `unsupported` for what this system or release
  ///   cannot do.
  init(_ config: DunlinTransportConfig) throws(DunlinError) {
    try Self.check(config.peerToPeer)
    try listen(on: config.listen.tcp, over: .tcp, what: "listen.tcp")
    try listen(on: config.listen.webSocket, over: .webSocket, what: "listen.webSocket")
    for text in config.connect.tcpServers.sorted() {
      dialing.insert(try Self.address(text, LinkSchemes.standard.address))
    }
    for text in config.connect.webSocketURLs.sorted() {
      dialing.insert(try Self.address(text, LinkSchemes.address(url:)))
    }
    guard config.connect.retryInterval > .zero else {
      throw DunlinError(.argument, "connect.retryInterval is above zero")
    }
    longestDelay = config.connect.retryInterval
    if config.peerToPeer.lan.isEnabled { discoveredGroup = config.global.syncGroup }
  }

  private static func address(
    _ text: String, _ read: (String) throws(LinkError) -> LinkAddress
  ) throws(DunlinError) -> LinkAddress {
    do { return try read(text) } catch { throw DunlinError(error) }
  }

  private static func check(_ config: DunlinTransportConfig.PeerToPeer) throws(DunlinError) {
    let absent = [
      ("bluetoothLE", "Bluetooth Low Energy", config.bluetoothLE), ("awdl", "AWDL", config.awdl),
      ("wifiAware", "Wi-Fi Aware", config.wifiAware),
    ]
    for (name, what, setting) in absent where setting.isEnabled {
      throw DunlinError(.unsupported, "peerToPeer.\(name) is on, and this release cannot use \(what)")
    }
    guard !config.lan.isEnabled || config.lan.isMdnsEnabled else {
      throw DunlinError(
        .unsupported, "peerToPeer.lan is on without mDNS, and this release finds nobody otherwise")
    }
  }

  private mutating func listen(
    on address: DunlinTransportConfig.Address, over carrier: TCPListener.Carrier, what: String
  ) throws(DunlinError) {
    guard address.isEnabled else { return }
    guard 0...65_535 ~= address.port else {
      throw DunlinError(.argument, "\(what).port is \(address.port), and a port is 0 to 65535")
    }
    listening.insert(
      ListeningAddress(
        host: address.interfaceIP, port: address.port, scheme: carrier.scheme, owner: .configuration))
  }
}
