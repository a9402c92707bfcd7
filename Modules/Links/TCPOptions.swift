/// How TCP links are made and bounded.
public struct TCPOptions: Sendable {
  /// How long one attempt to connect may take.
  public var connectTimeout: Duration = .seconds(10)
  /// Bytes that have arrived and wait to be received, above which the socket is not read.
  public var inboundBytes = 256 << 10
  /// Bytes that wait to be sent, above which a sender waits.
  public var outboundBytes = 512 << 10
  /// A file with the authorities (PEM) that verify a `wss` server's certificate; `nil` uses the system's.
  public var webAuthority: String?
  /// The addresses of trusted web proxies in front of this peer's WebSocket listeners.
  ///
  /// Their `X-Forwarded-For` headers are trusted for the origin of a connection. Those of others are ignored.
  /// A network such as `10.0.0.0/8` stands for all of its addresses.
  public var proxies: Set<String> = [] { didSet { trustedProxies = ProxyAddresses(proxies) } }
  /// The same, read.
  private(set) var trustedProxies: ProxyAddresses = []
  /// Called when a connection could not be accepted, mostly for want of file descriptors.
  ///
  /// The listener then pauses.
  public var acceptFailed: @Sendable (LinkError) -> Void = { _ in }

  /// The defaults.
  public init() {}
}
