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

    init(_ remote: SocketAddress?, _ headers: HTTPFields, proxies: Set<String>) {
      var elements: [Substring] = []
      for line in headers[values: Self.forwardedFor] {
        for element in line.split(separator: ",") {
          elements.append(element.drop { $0 == " " }.prefix { $0 != " " })
        }
      }
      if let forwarded = ForwardedAddress(elements, from: remote, proxies: proxies) {
        (origin, text) = (forwarded.origin, forwarded.text)
      } else {
        (origin, text) = (ConnectionOrigin(remote), remote?.unmappedIPAddress ?? "unknown")
      }
    }

    private static let forwardedFor: HTTPField.Name = {
      guard let name = HTTPField.Name("X-Forwarded-For") else { preconditionFailure("a header has no name") }
      return name
    }()
  }
#endif
