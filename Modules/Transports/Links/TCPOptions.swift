/// How TCP links are made and bounded.
public struct TCPOptions: Sendable {
  /// How long one attempt to connect may take.
  public var connectTimeout: Duration = .seconds(10)
  /// Bytes that have arrived and wait to be received, above which the socket is not read.
  public var inboundBytes = 256 << 10
  /// Bytes that wait to be sent, above which a sender waits.
  public var outboundBytes = 512 << 10
  /// A file with the authorities (PEM) that a `wss` server's certificate is verified against; `nil` takes the system's.
  public var webAuthority: String?
  /// The addresses of web proxies before this peer's listeners for WebSockets: what they say in `X-Forwarded-For` of where a connection
  /// comes from is believed, and of nobody else.
  public var proxies: Set<String> = []
  /// Hears of connections that could not be accepted, for want of file descriptors above all; the listener pauses then.
  public var acceptFailed: @Sendable (LinkError) -> Void = { _ in }

  /// The defaults.
  public init() {}
}
