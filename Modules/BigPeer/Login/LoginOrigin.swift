#if Server
  import HTTPTypes
  import Hummingbird
  import NIOCore
  package import Transports

  /// Where a request of a login comes from.
  package struct LoginOrigin: Hashable, Sendable {
    /// The address, for the audit log.
    package let text: String
    /// What limits go by: the address, or 64 bits of one of IPv6.
    package let group: ConnectionOrigin

    package init(_ text: String, group: ConnectionOrigin) {
      self.text = text
      self.group = group
    }

    /// The origin of an address; a text that is none stands for itself.
    package init(_ text: String) {
      let address = try? SocketAddress(ipAddress: text, port: 0)
      self.init(text, group: address.map { ConnectionOrigin($0) } ?? ConnectionOrigin(named: text))
    }

    /// The origin of a request: what a web proxy says of it, or the other end of the connection.
    init(_ request: Request, _ context: ServerContext, proxies: Set<String>) {
      let lines: [String] = Self.forwardedFor.map { request.headers[values: $0] } ?? []
      let elements: [Substring] = lines.flatMap { line in
        line.split(separator: ",").map { $0.trimmingPrefix { $0 == " " || $0 == "\t" } }
      }
      if let forwarded = ForwardedAddress(elements, from: context.remoteAddress, proxies: proxies) {
        self.init(forwarded.text, group: forwarded.origin)
      } else {
        self.init(
          context.remoteAddress?.ipAddress ?? "unknown", group: ConnectionOrigin(context.remoteAddress))
      }
    }

    private static let forwardedFor = HTTPField.Name("X-Forwarded-For")
  }
#endif
