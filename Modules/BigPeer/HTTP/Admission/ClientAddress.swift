#if Server
  import HTTPTypes
  import Links
  import NIOCore

  /// The client address of a request: the other end of the connection, or what a trusted proxy reports.
  struct ClientAddress: Sendable, Hashable {
    /// The origin that limits count by.
    let origin: ConnectionOrigin
    /// The text for logs.
    let text: String
    /// Whether a trusted proxy reports that the client has sent the request without TLS.
    let isPlain: Bool

    init(_ remote: SocketAddress?, _ headers: HTTPFields, proxies: TrustedProxies) {
      let isProxy = proxies.addresses.contains(remote)
      let elements = isProxy ? proxies.elements(of: headers) : []
      let forwarded = ForwardedAddress(elements.map(\.client), from: remote, proxies: proxies.addresses)
      let scheme = forwarded.map { elements[$0.index].scheme } ?? elements.last?.scheme
      isPlain = scheme?.lowercased() == "http"
      if let forwarded {
        (origin, text) = (forwarded.origin, forwarded.text)
      } else {
        (origin, text) = (ConnectionOrigin(remote), remote?.unmappedIPAddress ?? "unknown")
      }
    }
  }
#endif
