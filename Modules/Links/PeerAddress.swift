/// An address at which a peer can be reached.
public enum PeerAddress: Hashable, Sendable, CustomStringConvertible {
  /// A TCP port of a host.
  case tcp(host: String, port: Int)
  /// A WebSocket server.
  case webSocket(WebSocketAddress)

  /// Reads `host:port`; an IPv6 address is in brackets.
  ///
  /// - Throws: `unreachable`, saying what is wrong.
  public init(tcp text: String) throws(LinkError) {
    do throws(AddressFault) {
      let parts = try HostAndPort(text[...])
      guard let port = parts.port else { throw AddressFault("it has no port, as in host:4040") }
      self = .tcp(host: parts.host, port: port)
    } catch {
      throw LinkError(.unreachable, "\"\(text)\" is no TCP address: \(error.reason)")
    }
  }

  public var description: String {
    switch self {
    case .tcp(let host, let port): "tcp://\(hostPort(host, port))"
    case .webSocket(let address): address.description
    }
  }

  /// What connects to the address.
  package func connector(_ options: TCPOptions) -> any LinkConnector {
    switch self {
    case .tcp(let host, let port): TCPConnector(host: host, port: port, options: options)
    case .webSocket(let address): WebSocketConnector(address, options: options)
    }
  }
}

/// The part that requested an address.
///
/// Another part may still want an address that one part withdraws.
package enum AddressOwner: Hashable, Sendable {
  /// The application, by a call.
  case application
  /// The transport configuration.
  case configuration
}

/// An address at which a network listens.
package struct ListeningAddress: Hashable, Sendable {
  package let host: String
  /// 0 for any free one.
  package let port: Int
  package let carrier: TCPListener.Carrier
  package let owner: AddressOwner

  package init(
    host: String, port: Int, carrier: TCPListener.Carrier, owner: AddressOwner = .application
  ) {
    (self.host, self.port, self.carrier, self.owner) = (host, port, carrier, owner)
  }
}
