/// The address of a WebSocket server: `ws://host:port/path` or `wss://host:port/path`.
public struct WebSocketAddress: Hashable, Sendable, CustomStringConvertible {
  private let address: WebAddress

  /// Reads an address.
  ///
  /// - Throws: `unreachable`, saying what is wrong.
  public init(_ text: String) throws(LinkError) {
    do {
      address = try WebAddress(text, plain: "ws://", secure: "wss://")
    } catch {
      throw LinkError(.unreachable, "\"\(text)\" is no WebSocket address: \(error.reason)")
    }
  }

  /// Whether the connection to the web server or proxy uses TLS.
  public var isSecure: Bool { address.isSecure }
  /// The host's name or address, an IPv6 address without its brackets.
  public var host: String { address.host }
  /// The port; 80 or 443 if the text has none.
  public var port: Int { address.port }
  /// The path of the request, beginning with a slash.
  public var path: String { address.path }
  /// The value of the request's host header.
  var authority: String { address.authority }

  public var description: String { "\(isSecure ? "wss" : "ws")://\(hostPort(host, port))\(path)" }
}
