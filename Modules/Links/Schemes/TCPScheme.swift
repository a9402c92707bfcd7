/// Links over plain TCP.
package struct TCPScheme: LinkScheme {
  package var name: String { "tcp" }
  package var urlSchemes: [String] { [] }

  package func address(_ text: String) throws(LinkError) -> LinkAddress { try PeerAddress(tcp: text).link }

  package func listen(
    host: String, port: Int, options: TCPOptions, halfOpen: HalfOpenConnections
  ) throws(LinkError) -> any LinkListener {
    try TCPListener.bindBlocking(host: host, port: port, options: options, halfOpen: halfOpen)
  }

  /// The address of a port.
  ///
  /// - Parameters:
  ///   - host: The host's name or address, an IPv6 address without brackets.
  ///   - port: The port; dialing one outside 1 to 65535 fails.
  /// - Returns: The address, which can be dialed.
  package func address(host: String, port: Int) -> LinkAddress {
    LinkAddress("\(name)://\(hostPort(host, port))") { options in
      TCPConnector(host: host, port: port, options: options)
    }
  }

  /// What connects to a candidate, over the first of its addresses that answers.
  ///
  /// - Parameters:
  ///   - candidate: A peer that may be reachable.
  ///   - options: The bounds of the link.
  /// - Returns: `nil` when the candidate has no address.
  package func dialer(to candidate: PeerCandidate, _ options: TCPOptions) -> (any LinkDialer)? {
    TCPConnector(candidate, options: options)
  }
}

extension TCPConnector: LinkDialer {}
extension TCPListener: LinkListener {
  package func accept(_ body: (any Link) -> Void) async {
    for await link in links { body(link) }
  }
}
