/// The sender of a packet.
struct DatagramSource: Hashable, Sendable {
  /// The port of multicast DNS; a plain resolver asks from another one.
  static let multicastPort: UInt16 = 5_353

  /// 4 or 16 bytes.
  let address: [UInt8]
  let port: UInt16
}
