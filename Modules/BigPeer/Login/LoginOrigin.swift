#if Server
  package import Links
  import NIOCore

  /// The source of a login request.
  package struct LoginOrigin: Hashable, Sendable {
    /// The address, for the audit log.
    package let text: String
    /// The group for limits: the address, or 64 bits of an IPv6 address.
    package let group: ConnectionOrigin

    /// The origin of an address; all invalid texts count as one.
    package init(_ text: String) {
      self.text = text
      group = ConnectionOrigin(try? SocketAddress(ipAddress: text, port: 0))
    }

    init(_ address: ClientAddress) {
      text = address.text
      group = address.origin
    }
  }
#endif
