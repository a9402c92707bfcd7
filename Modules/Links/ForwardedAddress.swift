package import NIOCore
import NIOHTTP1

/// The origin of a connection that a web proxy has forwarded.
package struct ForwardedAddress {
  /// The address, without a port.
  package let text: String
  package let origin: ConnectionOrigin

  /// The place in the elements at which it stands.
  package let index: Int

  /// Reads what the trusted proxies report: the last address that is not a proxy's.
  ///
  /// Anybody may have written what precedes that address. The result is `nil` when the other end is not one
  /// of the proxies, or when the last of them reports nothing.
  ///
  /// - Parameters:
  ///   - elements: The elements of all of these headers, without surrounding spaces.
  ///   - remote: The other end of the connection.
  ///   - proxies: The trusted proxies.
  package init?(_ elements: [Substring], from remote: SocketAddress?, proxies: ProxyAddresses) {
    guard proxies.contains(remote) else { return nil }
    for (index, element) in zip(elements.indices, elements).reversed() where !element.isEmpty {
      // Behind an element that is no address, such as "unknown", stands what anybody may have written.
      guard let found = Self.address(element) else { return nil }
      guard !proxies.contains(found.address) else { continue }
      (text, origin, self.index) = (found.text, ConnectionOrigin(found.address), index)
      return
    }
    return nil
  }

  /// Reads the origin from the headers of a request.
  init?(_ head: HTTPRequestHead, over channel: any Channel, _ options: TCPOptions) {
    self.init(
      head.headers[canonicalForm: "X-Forwarded-For"], from: channel.remoteAddress,
      proxies: options.trustedProxies)
  }

  /// Whether the other end is one of the proxies.
  static func isProxy(_ channel: any Channel, _ options: TCPOptions) -> Bool {
    options.trustedProxies.contains(channel.remoteAddress)
  }

  /// Reads an address, which may be followed by a port.
  private static func address(_ element: Substring) -> (text: String, address: SocketAddress)? {
    if let address = try? SocketAddress(ipAddress: String(element), port: 0) {
      return address.unmappedIPAddress.map { ($0, address) }
    }
    guard let parts = try? HostAndPort(element),
      let address = try? SocketAddress(ipAddress: parts.host, port: 0)
    else { return nil }
    return address.unmappedIPAddress.map { ($0, address) }
  }
}

extension SocketAddress {
  /// The address as text.
  ///
  /// An IPv4 address is written as such, also when a dual-stack socket reports it.
  package var unmappedIPAddress: String? {
    guard let text = ipAddress else { return nil }
    let prefix = "::ffff:"
    return text.hasPrefix(prefix) && text.contains(".") ? String(text.dropFirst(prefix.count)) : text
  }
}
