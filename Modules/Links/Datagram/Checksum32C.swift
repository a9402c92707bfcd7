/// The CRC-32C of bytes that are added piece by piece.
///
/// Source: Castagnoli, Bräuer and Herrmann, "Optimization of Cyclic Redundancy-Check Codes with 24 and 32
/// Parity Bits", IEEE Transactions on Communications 41(6), 1993; the bit order and final inversion are those
/// of iSCSI (RFC 3720, section 12.1).
package struct Checksum32C: Sendable {
  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 0 ? value >> 1 : value >> 1 ^ 0x82F6_3B78 }
  }

  private var register: UInt32 = .max

  /// Makes the checksum of no bytes.
  package init() {}

  /// The checksum of all bytes that were added.
  package var value: UInt32 { ~register }

  /// Adds bytes.
  package mutating func add(_ bytes: some Sequence<UInt8>) {
    var register = register
    for byte in bytes {
      register = Self.table[Int(UInt8(truncatingIfNeeded: register) ^ byte)] ^ register >> 8
    }
    self.register = register
  }

  /// Adds the eight bytes of a number, the most significant first.
  package mutating func add(_ number: UInt64) {
    add((0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) })
  }
}
