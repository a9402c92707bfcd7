import Platform

/// An interface that is up and carries multicast.
struct NetworkInterface: Hashable, Sendable {
  /// One of its addresses, of 4 or 16 bytes, and the length of its network prefix.
  struct Address: Hashable, Sendable {
    let bytes: [UInt8]
    let prefixBits: Int

    var isLinkLocal: Bool { NetworkInterface.isLinkLocal(bytes) }
  }

  /// The system's name of the interface.
  let name: String
  /// The system's number of the interface.
  let index: Int
  let addresses: [Address]

  /// Whether an address is on the interface's own link, so that no router is in between.
  func isOnLink(_ address: [UInt8]) -> Bool {
    Self.isLinkLocal(address) || addresses.contains { $0.bytes.hasPrefix(of: $0.prefixBits, with: address) }
  }

  /// Whether a peer can be at an address on the link: it is no multicast, broadcast or null address.
  func canReach(_ address: [UInt8]) -> Bool {
    guard isOnLink(address), address.contains(where: { $0 != 0 }) else { return false }
    if address.count == 16 { return address[0] != 0xFF }
    guard address[0] < 224, address[0] != 127 else { return false }
    return !addresses.contains { own in
      own.bytes.count == 4 && own.prefixBits < 31
        && own.bytes.hasPrefix(of: own.prefixBits, with: address)
        && address.bits(from: own.prefixBits).allSatisfy(\.self)
    }
  }

  /// Whether the interface has an address of a family, and can send from there.
  func speaks(_ family: AddressFamily) -> Bool {
    addresses.contains { $0.bytes.count == family.addressBytes && (family == .ipv4 || $0.isLinkLocal) }
  }

  /// Whether an address is in 169.254.0.0/16 or fe80::/10.
  static func isLinkLocal(_ address: [UInt8]) -> Bool {
    address.count == 4
      ? address[0] == 169 && address[1] == 254
      : address.count == 16 && address[0] == 0xFE && address[1] & 0xC0 == 0x80
  }
}

/// The two families of addresses.
enum AddressFamily: Hashable, Sendable, CaseIterable {
  case ipv4
  case ipv6

  var addressBytes: Int { self == .ipv4 ? 4 : 16 }
}

extension [UInt8] {
  /// Whether the first `bits` bits are those of `other`, of the same length.
  fileprivate func hasPrefix(of bits: Int, with other: [UInt8]) -> Bool {
    guard count == other.count, bits > 0, bits <= count * 8 else { return false }
    return zip(indices, zip(self, other)).allSatisfy { place, pair in
      let shared = Swift.min(Swift.max(bits - place * 8, 0), 8)
      return (pair.0 ^ pair.1) >> (8 - shared) == 0
    }
  }

  /// The bits from a position on.
  fileprivate func bits(from start: Int) -> [Bool] {
    (start..<count * 8).map { self[$0 / 8] & (0x80 >> UInt8($0 % 8)) != 0 }
  }
}

// MARK: - The system's list

extension NetworkInterface {
  /// The interfaces that are up and carry multicast, by number, without the loopback interface.
  ///
  /// - Returns: At most ``DiscoveryLimits/interfaces``; none when the system does not report them.
  static func scan() -> [NetworkInterface] {
    var head: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&head) == 0 else { return [] }
    defer { freeifaddrs(head) }
    var found: [String: [Address]] = [:]
    var entry = head
    while let current = entry?.pointee {
      entry = current.ifa_next
      let flags = UInt32(current.ifa_flags)
      guard flags & Self.wanted == Self.wanted, flags & UInt32(IFF_LOOPBACK) == 0,
        let address = Address(current.ifa_addr, mask: current.ifa_netmask)
      else { continue }
      found[String(cString: current.ifa_name), default: []].append(address)
    }
    let interfaces = found.compactMap { name, addresses -> NetworkInterface? in
      let index = Int(if_nametoindex(name))
      guard index > 0 else { return nil }
      let sorted = addresses.sorted {
        $0.bytes.count == $1.bytes.count
          ? $0.bytes.lexicographicallyPrecedes($1.bytes) : $0.bytes.count < $1.bytes.count
      }
      return NetworkInterface(name: name, index: index, addresses: sorted)
    }
    return Array(interfaces.sorted { $0.index < $1.index }.prefix(DiscoveryLimits.interfaces))
  }

  private static var wanted: UInt32 {
    UInt32(IFF_UP) | UInt32(IFF_RUNNING) | UInt32(IFF_MULTICAST)
  }
}

extension NetworkInterface.Address {
  /// Reads the system's form; `nil` for other families.
  ///
  /// In these structures an IPv4 address follows family and port, and an IPv6 address also follows the flow
  /// number.
  fileprivate init?(_ address: UnsafeMutablePointer<sockaddr>?, mask: UnsafeMutablePointer<sockaddr>?) {
    guard let address, let mask else { return nil }
    let range: Range<Int>
    switch Int32(address.pointee.sa_family) {
    case AF_INET: range = 4..<8
    case AF_INET6: range = 8..<24
    default: return nil
    }
    // SAFETY: the system gives each address and its mask the size of their family.
    func bytes(_ pointer: UnsafeMutablePointer<sockaddr>) -> [UInt8] {
      Array(UnsafeRawBufferPointer(start: pointer, count: range.upperBound)[range])
    }
    self.bytes = bytes(address)
    prefixBits = bytes(mask).reduce(0) { $0 + $1.nonzeroBitCount }
  }
}
