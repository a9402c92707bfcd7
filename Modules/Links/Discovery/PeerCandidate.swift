import NIOCore
import Platform

/// A peer that may be at one of some addresses: a hint, from a discovery or from the application.
public struct PeerCandidate: Hashable, Sendable, Identifiable {
  /// An address and a port.
  public struct Endpoint: Hashable, Sendable, CustomStringConvertible {
    /// A numeric address.
    ///
    /// A link-local IPv6 address is followed by its interface: `fe80::1%eth0`.
    public let host: String
    /// The port, 1 to 65535.
    public let port: Int

    /// Makes an endpoint; `nil` when the host is not a numeric address or the port is invalid.
    public init?(host: String, port: Int) {
      guard SocketAddress(numericHost: host, port: port) != nil else { return nil }
      self.host = host
      self.port = port
    }

    /// Makes the endpoint of an address of 4 or 16 bytes on an interface's link.
    init?(_ address: [UInt8], port: UInt16, on interface: NetworkInterface) {
      let packed = ByteBuffer(bytes: address)
      guard port > 0,
        let text = try? SocketAddress(packedIPAddress: packed, port: Int(port)).ipAddress
      else { return nil }
      // A link-local address is meaningless without the link.
      host = address.count == 16 && NetworkInterface.isLinkLocal(address) ? "\(text)%\(interface.name)" : text
      self.port = Int(port)
    }

    public var description: String { hostPort(host, port) }
  }

  /// Identifies the candidate among those of the same source.
  public let id: String
  /// The addresses where it may be, in no order.
  public let endpoints: [Endpoint]

  /// Makes a candidate.
  public init(id: String, endpoints: [Endpoint]) {
    self.id = id
    self.endpoints = endpoints
  }
}

extension SocketAddress {
  /// Reads a numeric address, with the name or number of an interface after a percent sign.
  ///
  /// - Returns: `nil` when it is not an address, the port is invalid, or there is no such interface.
  init?(numericHost host: String, port: Int) {
    guard (1...65_535).contains(port) else { return nil }
    let parts = host.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard let plain = try? SocketAddress(ipAddress: parts[0], port: port) else { return nil }
    guard parts.count == 2 else {
      self = plain
      return
    }
    let index = UInt32(parts[1]) ?? if_nametoindex(parts[1])
    guard index > 0, case .v6 = plain else { return nil }
    self = plain.onLink(of: Int(index))
  }

  /// The same IPv6 address on the link of an interface; an IPv4 address is returned unchanged.
  func onLink(of interface: Int) -> SocketAddress {
    guard case .v6(let address) = self else { return self }
    var scoped = address.address
    // In the system's structure the interface's number follows the address.
    withUnsafeMutableBytes(of: &scoped) {
      $0.storeBytes(of: UInt32(truncatingIfNeeded: interface), toByteOffset: 24, as: UInt32.self)
    }
    return SocketAddress(scoped, host: "")
  }

  /// The address's 4 or 16 bytes, and the port.
  var datagramSource: DatagramSource? {
    // In the system's structures the address follows family and port, and for IPv6 also the flow number.
    switch self {
    case .v4(let address):
      withUnsafeBytes(of: address.address) {
        DatagramSource(address: Array($0[4..<8]), port: UInt16(port ?? 0))
      }
    case .v6(let address):
      withUnsafeBytes(of: address.address) {
        DatagramSource(address: Array($0[8..<24]), port: UInt16(port ?? 0))
      }
    case .unixDomainSocket: nil
    }
  }
}
