package import NIOCore
import NIOHTTP1

/// The origin of a connection that a web proxy has forwarded.
package struct ForwardedAddress {
  /// The address, without a port.
  package let text: String
  package let origin: ConnectionOrigin

  /// Reads what the trusted proxies report: the last address in `X-Forwarded-For` that is not a proxy's.
  ///
  /// Anybody may have written what precedes that address. The result is `nil` when the other end is not one
  /// of the proxies, or reports nothing.
  ///
  /// - Parameters:
  ///   - elements: The elements of all of these headers, without surrounding spaces.
  ///   - remote: The other end of the connection.
  ///   - proxies: The addresses of the trusted proxies.
  package init?(_ elements: [Substring], from remote: SocketAddress?, proxies: Set<String>) {
    guard Self.isProxy(remote, of: proxies) else { return nil }
    let addresses = elements.compactMap { Self.address($0) }
    guard let last = addresses.last(where: { !proxies.contains($0.text) }) else { return nil }
    text = last.text
    origin = ConnectionOrigin(last.address)
  }

  /// Reads the origin from the headers of a request.
  init?(_ head: HTTPRequestHead, over channel: any Channel, _ options: TCPOptions) {
    self.init(
      head.headers[canonicalForm: "X-Forwarded-For"], from: channel.remoteAddress, proxies: options.proxies)
  }

  /// Whether the other end is one of the proxies.
  static func isProxy(_ channel: any Channel, _ options: TCPOptions) -> Bool {
    isProxy(channel.remoteAddress, of: options.proxies)
  }

  /// Whether the other end of a connection is one of the proxies.
  package static func isProxy(_ remote: SocketAddress?, of proxies: Set<String>) -> Bool {
    remote?.unmappedIPAddress.map(proxies.contains) ?? false
  }

  /// The text of an address in the form in which a connection reports its other end.
  ///
  /// - Returns: `nil` when the text is not an address.
  package static func canonical(_ text: String) -> String? {
    (try? SocketAddress(ipAddress: text, port: 0))?.unmappedIPAddress
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
