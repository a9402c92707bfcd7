import SyncProtocol

/// What can be told of frames by looking at them.
enum FrameKind {
  private static let pings: ClosedRange<UInt8> = 0x0D...0x0E

  /// Whether the bytes are a frame that keeps a quiet link alive, or answers one: eight bytes in a frame of any form.
  static func keepsAlive(_ bytes: [UInt8]) -> Bool {
    switch bytes.count {
    case 17: pings.contains(bytes[4])
    case 14: bytes[0] == 9 && pings.contains(bytes[1])
    default: false
    }
  }

  /// A frame in one word and its length, for who reads along.
  static func text(_ bytes: [UInt8]) -> String {
    guard bytes.count > 4 else { return "\(bytes.count) B" }
    // Frames of the first form begin with a length of four bytes, of which the first is zero.
    let type = bytes[0] == 0 ? bytes[4] : bytes[bytes[0] < 0x80 ? 1 : 2]
    let name = FrameType(rawValue: type).map { "\($0)" } ?? "type \(type)"
    return "\(name), \(bytes.count) B"
  }
}
