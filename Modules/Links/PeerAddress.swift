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

  public var description: String { link.description }

  /// The address with what connects to it.
  package var link: LinkAddress {
    switch self {
    case .tcp(let host, let port): LinkSchemes.standard.address(host: host, port: port)
    case .webSocket(let address): WebSocketScheme().address(address)
    }
  }
}
