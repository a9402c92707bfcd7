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
  ///   cannot do. Of several mistakes, the code of the first, and all of their messages.
  init(_ config: DunlinTransportConfig) throws(DunlinError) {
    var mistakes = Self.mistakes(of: config.peerToPeer)
    func collect(_ body: () throws -> Void) {
      do { try body() } catch { mistakes.append(DunlinError(any: error)) }
    }
    collect { try listen(on: config.listen.tcp, over: .tcp, what: "listen.tcp") }
    collect { try listen(on: config.listen.webSocket, over: .webSocket, what: "listen.webSocket") }
    for text in config.connect.tcpServers.sorted() {
      collect { dialing.insert(try Self.address(text, LinkSchemes.standard.address)) }
    }
    for text in config.connect.webSocketURLs.sorted() {
      collect { dialing.insert(try Self.address(text, LinkSchemes.address(url:))) }
    }
    if config.connect.retryInterval <= .zero {
      mistakes.append(DunlinError(.argument, "connect.retryInterval is above zero"))
    }
    try Self.check(mistakes)
    longestDelay = config.connect.retryInterval
    if config.peerToPeer.lan.isEnabled { discoveredGroup = config.global.syncGroup }
  }

  /// Reports mistakes as one error.
  private static func check(_ mistakes: [DunlinError]) throws(DunlinError) {
    guard let first = mistakes.first else { return }
    guard mistakes.count > 1 else { throw first }
    throw DunlinError(
      first.code, mistakes.map(\.message).joined(separator: "; "), context: first.context,
      underlying: first.underlying)
  }

  private static func address(
    _ text: String, _ read: (String) throws(LinkError) -> LinkAddress
  ) throws(DunlinError) -> LinkAddress {
    do { return try read(text) } catch { throw DunlinError(error) }
  }

  private static func mistakes(of config: DunlinTransportConfig.PeerToPeer) -> [DunlinError] {
    let absent = [
      ("bluetoothLE", "Bluetooth Low Energy", config.bluetoothLE), ("awdl", "AWDL", config.awdl),
      ("wifiAware", "Wi-Fi Aware", config.wifiAware),
    ]
    var mistakes = absent.filter(\.2.isEnabled).map { name, what, _ in
      DunlinError(.unsupported, "peerToPeer.\(name) is on, and this release cannot use \(what)")
    }
    if config.lan.isEnabled, !config.lan.isMdnsEnabled {
      mistakes.append(
        DunlinError(
          .unsupported, "peerToPeer.lan is on without mDNS, and this release finds nobody otherwise"))
    }
    return mistakes
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
