#if Server
  package import NIOCore

  /// The addresses that a webhook may have: only those of the public internet.
  ///
  /// Otherwise a client could reach the server's own network through a webhook.
  ///
  /// Source: RFC 6890, and IANA's registries of special-purpose addresses.
  package enum AddressPolicy {
    /// Whether an address belongs to the public internet.
    package static func isPublic(_ address: SocketAddress) -> Bool {
      switch address {
      case .v4(let address):
        // The address follows family and port, in network byte order.
        let bytes = withUnsafeBytes(of: address.address) { Array($0[4..<8]) }
        return isPublic(v4: bytes.reduce(0) { $0 << 8 | UInt32($1) })
      case .v6(let address):
        return isPublic(v6: withUnsafeBytes(of: address.address) { Array($0[8..<24]) })
      case .unixDomainSocket: return false
      }
    }

    private static let reserved: [(address: UInt32, bits: UInt32)] = [
      (0x0000_0000, 8),  // this network
      (0x0A00_0000, 8),  // private
      (0x6440_0000, 10),  // shared by a provider's customers
      (0x7F00_0000, 8),  // loopback
      (0xA9FE_0000, 16),  // link-local
      (0xAC10_0000, 12),  // private
      (0xC000_0000, 24),  // protocol assignments
      (0xC000_0200, 24),  // documentation
      (0xC058_6300, 24),  // relays of 6to4
      (0xC0A8_0000, 16),  // private
      (0xC612_0000, 15),  // benchmarks
      (0xC633_6400, 24),  // documentation
      (0xCB00_7100, 24),  // documentation
      (0xE000_0000, 4),  // multicast
      (0xF000_0000, 4),  // reserved, broadcast
    ]

    static func isPublic(v4 address: UInt32) -> Bool {
      !reserved.contains { address >> (32 - $0.bits) == $0.address >> (32 - $0.bits) }
    }

    static func isPublic(v6 bytes: [UInt8]) -> Bool {
      func v4(at offset: Int) -> UInt32 { bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } }
      // An IPv4 address in the form of an IPv6 one.
      if bytes[0..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xFF, bytes[11] == 0xFF {
        return isPublic(v4: v4(at: 12))
      }
      // Only 2000::/3 is allocated.
      guard bytes[0] >> 5 == 1 else { return false }
      switch (bytes[0], bytes[1]) {
      // 2001::/23 is for protocols, tunnels among them.
      case (0x20, 0x01) where bytes[2] < 0x02: return false
      // Documentation.
      case (0x20, 0x01) where bytes[2] == 0x0D && bytes[3] == 0xB8: return false
      case (0x3F, 0xFF) where bytes[2] < 0x10: return false
      // A 6to4 address leads to the IPv4 address in it.
      case (0x20, 0x02): return isPublic(v4: v4(at: 2))
      default: return true
      }
    }
  }
#endif
