/// Where a peer can be connected to.
public enum PeerAddress: Hashable, Sendable, CustomStringConvertible {
  /// A TCP port of a host.
  case tcp(host: String, port: Int)
  /// A WebSocket server.
  case webSocket(WebSocketAddress)

  /// Reads `host:port`; an IPv6 address stands in brackets.
  ///
  /// - Throws: `unreachable`, saying what is wrong.
  public init(tcp text: String) throws(LinkError) {
    func wrong(_ why: String) -> LinkError {
      LinkError(.unreachable, "\"\(text)\" is no TCP address: \(why)")
    }
    let parts = try HostAndPort(text[...], otherwise: wrong)
    guard let port = parts.port else { throw wrong("it has no port, as in host:4040") }
    self = .tcp(host: parts.host, port: port)
  }

  public var description: String {
    switch self {
    case .tcp(let host, let port): "tcp://\(hostPort(host, port))"
    case .webSocket(let address): address.description
    }
  }

  func connector(_ options: TCPOptions) -> any LinkConnector {
    switch self {
    case .tcp(let host, let port): TCPConnector(host: host, port: port, options: options)
    case .webSocket(let address): WebSocketConnector(address, options: options)
    }
  }
}

/// Where a network listens.
package struct ListeningAddress: Hashable, Sendable {
  package let host: String
  /// 0 for any free one.
  package let port: Int
  package let carrier: TCPListener.Carrier

  package init(host: String, port: Int, carrier: TCPListener.Carrier) {
    (self.host, self.port, self.carrier) = (host, port, carrier)
  }
}

/// A host with a port, in text: `host:port`, `[IPv6]:port`, or either without the port.
struct HostAndPort {
  /// A name or an address, without brackets.
  let host: String
  let port: Int?

  /// - Parameters:
  ///   - text: What to read.
  ///   - wrong: Makes the error of what is wrong.
  /// - Throws: That error.
  init(_ text: Substring, otherwise wrong: (String) -> LinkError) throws(LinkError) {
    // What is written into a request, or looked up, has nothing else in it.
    guard text.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }), !text.contains("/") else {
      throw wrong("it has characters that a host cannot have")
    }
    var host = text
    var digits: Substring?
    if text.hasPrefix("[") {
      guard let bracket = text.firstIndex(of: "]") else { throw wrong("a bracket is not closed") }
      host = text[text.index(after: text.startIndex)..<bracket]
      let after = text[text.index(after: bracket)...]
      guard after.isEmpty || after.hasPrefix(":") else { throw wrong("after the bracket comes the port") }
      digits = after.isEmpty ? nil : after.dropFirst()
    } else if let colon = text.firstIndex(of: ":") {
      host = text[..<colon]
      digits = text[text.index(after: colon)...]
    }
    guard !host.isEmpty else { throw wrong("it has no host") }
    self.host = String(host)
    guard let digits else {
      port = nil
      return
    }
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = Int(digits), 1...65_535 ~= port
    else {
      throw wrong("a port is a number from 1 to 65535")
    }
    self.port = port
  }
}
