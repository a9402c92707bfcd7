/// Where a WebSocket server is: `ws://host:port/path` or `wss://host:port/path`.
public struct WebSocketAddress: Hashable, Sendable, CustomStringConvertible {
  /// Whether TLS with the web server or proxy stands around the connection.
  public let isSecure: Bool
  /// The host's name or address, an IPv6 address without its brackets.
  public let host: String
  /// The port; 80 or 443 where the text has none.
  public let port: Int
  /// What is asked for, beginning with a slash.
  public let path: String

  /// Reads an address.
  ///
  /// - Throws: `unreachable`, saying what is wrong.
  public init(_ text: String) throws(LinkError) {
    func wrong(_ why: String) -> LinkError {
      LinkError(.unreachable, "\"\(text)\" is no WebSocket address: \(why)")
    }
    // What is written into a request line must not end it.
    guard text.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }), !text.isEmpty else {
      throw wrong("it has characters that an address cannot have")
    }
    let schemes = [("ws://", false), ("wss://", true)]
    guard let (scheme, isSecure) = schemes.first(where: { text.lowercased().hasPrefix($0.0) }) else {
      throw wrong("it begins with ws:// or wss://")
    }
    self.isSecure = isSecure
    let rest = text.dropFirst(scheme.count)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    let path = rest.dropFirst(authority.count)
    guard !authority.contains("@"), !path.contains("#") else { throw wrong("it names a user or a fragment") }
    self.path = path.hasPrefix("/") ? String(path) : "/" + path
    let parts = try HostAndPort(authority, otherwise: wrong)
    host = parts.host
    port = parts.port ?? (isSecure ? 443 : 80)
  }

  public var description: String { "\(isSecure ? "wss" : "ws")://\(hostPort(host, port))\(path)" }

  /// What the request names as its host.
  var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
  }
}
