#if Server
  import NIOCore
  package import Transports

  /// Where a request of a login comes from.
  package struct LoginOrigin: Hashable, Sendable {
    /// The address, for the audit log.
    package let text: String
    /// What limits go by: the address, or 64 bits of one of IPv6.
    package let group: ConnectionOrigin

    /// The origin of an address; all texts that are none count as one.
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
