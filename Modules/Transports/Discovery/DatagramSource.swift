/// Where a packet comes from.
struct DatagramSource: Hashable, Sendable {
  /// The port of multicast DNS; who asks from another one is a plain resolver.
  static let multicastPort: UInt16 = 5_353

  /// 4 or 16 bytes.
  let address: [UInt8]
  let port: UInt16
}
