package import NIOCore

/// The web proxies that are trusted: addresses, and networks such as `10.0.0.0/8`.
package struct ProxyAddresses: Hashable, Sendable, ExpressibleByArrayLiteral {
  private let networks: [Network]

  /// Reads the proxies; a text that is neither an address nor a network is left out.
  package init(_ texts: some Sequence<String>) { networks = texts.compactMap { Network($0) } }

  package init(arrayLiteral texts: String...) { self.init(texts) }

  /// Whether there is none.
  package var isEmpty: Bool { networks.isEmpty }

  /// Whether an address is that of one of the proxies.
  package func contains(_ address: SocketAddress?) -> Bool {
    guard !networks.isEmpty, let bytes = address?.networkBytes else { return false }
    return networks.contains { $0.contains(bytes) }
  }

  /// The text of an address or a network in one form.
  ///
  /// - Returns: `nil` when the text is neither; `nil` also for a network of all addresses, as everybody would
  ///   be believed.
  package static func canonical(_ text: String) -> String? { Network(text)?.text }
}

/// The addresses that begin with the same bits.
private struct Network: Hashable, Sendable {
  /// The address, whose bits behind the first ones are zero: 4 bytes, or 16.
  let bytes: [UInt8]
  let bits: Int
  let text: String

  /// Reads an address, or an address and the number of its bits that count.
  init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let address = try? SocketAddress(ipAddress: String(parts[0]), port: 0),
      let name = address.unmappedIPAddress, let bytes = address.networkBytes
    else { return nil }
    guard parts.count == 2 else {
      (self.bytes, bits, self.text) = (bytes, bytes.count * 8, name)
      return
    }
    guard parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int(parts[1])
    else { return nil }
    // An IPv4 network may be written as a part of the IPv6 addresses.
    let isMapped = bytes.count == 4 && parts[0].contains(":")
    let bits = isMapped ? count - 96 : count
    guard 1...bytes.count * 8 ~= bits else { return nil }
    let masked = zip(0..., bytes).map { index, byte in
      byte & ~(UInt8.max >> UInt8(min(max(bits - index * 8, 0), 8)))
    }
    (self.bytes, self.bits) = (masked, bits)
    self.text = masked == bytes ? "\(name)/\(bits)" : "\(Self.text(of: masked) ?? name)/\(bits)"
  }

  func contains(_ other: [UInt8]) -> Bool {
    guard other.count == bytes.count else { return false }
    let whole = bits / 8
    guard other[..<whole].elementsEqual(bytes[..<whole]) else { return false }
    guard bits % 8 > 0 else { return true }
    return other[whole] & ~(UInt8.max >> UInt8(bits % 8)) == bytes[whole]
  }

  private static func text(of bytes: [UInt8]) -> String? {
    (try? SocketAddress(packedIPAddress: ByteBuffer(bytes: bytes), port: 0))?.ipAddress
  }
}

extension SocketAddress {
  /// The bytes of the address without a port: 4, also of an IPv4 address as a dual-stack socket reports it,
  /// or 16.
  fileprivate var networkBytes: [UInt8]? {
    switch self {
    // In the system's structures the address follows family and port, and for IPv6 also the flow number.
    case .v4(let address): return withUnsafeBytes(of: address.address) { Array($0[4..<8]) }
    case .v6(let address):
      let all = withUnsafeBytes(of: address.address) { Array($0[8..<24]) }
      let isMapped = all.prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
      return isMapped ? Array(all.suffix(4)) : all
    case .unixDomainSocket: return nil
    }
  }
}
