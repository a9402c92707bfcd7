#if Server
  import HTTPTypes
  import NIOCore
  import Transports

  /// Where a request comes from: the other end of the connection, or what a proxy that is believed says of it.
  struct ClientAddress: Sendable, Hashable {
    /// What limits go by.
    let origin: ConnectionOrigin
    /// What logs show.
    let text: String

    init(_ remote: SocketAddress?, _ headers: HTTPFields, proxies: Set<String>) {
      let name = remote?.ipAddress ?? "unknown"
      guard proxies.contains(name), let forwarded = headers[values: Self.forwardedFor].last,
        // The last address is the one that the proxy itself has seen.
        let last = forwarded.split(separator: ",").last,
        let address = try? SocketAddress(ipAddress: String(last.filter { $0 != " " }), port: 0)
      else {
        origin = ConnectionOrigin(remote)
        text = name
        return
      }
      origin = ConnectionOrigin(address)
      text = address.ipAddress ?? name
    }

    private static let forwardedFor: HTTPField.Name = {
      guard let name = HTTPField.Name("X-Forwarded-For") else { preconditionFailure("a header has no name") }
      return name
    }()
  }
#endif
