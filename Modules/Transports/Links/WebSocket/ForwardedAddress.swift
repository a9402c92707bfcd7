import NIOCore
import NIOHTTP1

/// Where a connection comes from that a web proxy has passed on.
struct ForwardedAddress {
  /// The address, without a port.
  let text: String
  let origin: ConnectionOrigin

  /// Reads what the proxies before this peer say: the last address in `X-Forwarded-For` that is none of them, since what stands before
  /// it may be anybody's word.
  ///
  /// - Returns: `nil` where the other end of the channel is no proxy of the options, or says nothing.
  init?(_ head: HTTPRequestHead, over channel: any Channel, _ options: TCPOptions) {
    guard Self.isProxy(channel, options) else { return nil }
    let addresses = head.headers[canonicalForm: "X-Forwarded-For"].compactMap { Self.address($0) }
    guard let last = addresses.last(where: { !options.proxies.contains($0.text) }) else { return nil }
    text = last.text
    origin = ConnectionOrigin(last.address)
  }

  /// Whether the other end is one of the proxies.
  static func isProxy(_ channel: any Channel, _ options: TCPOptions) -> Bool {
    channel.remoteAddress?.ipAddress.map(options.proxies.contains) ?? false
  }

  /// Reads an address, which may have a port behind it.
  private static func address(_ element: Substring) -> (text: String, address: SocketAddress)? {
    if let address = try? SocketAddress(ipAddress: String(element), port: 0) {
      return address.ipAddress.map { ($0, address) }
    }
    guard let parts = try? HostAndPort(element),
      let address = try? SocketAddress(ipAddress: parts.host, port: 0)
    else { return nil }
    return address.ipAddress.map { ($0, address) }
  }
}
