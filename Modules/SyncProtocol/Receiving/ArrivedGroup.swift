import CRDTCore

/// A group from the peer as it came: it is taken apart when its turn to be applied is near, since what it becomes may take
/// many times its bytes.
struct ArrivedGroup {
  /// Bytes that may hold several groups.
  let block: [UInt8]
  /// Where the group lies in the block.
  let range: Range<Int>
  /// The sender's frame with which it began to come, or a later one of it.
  let begun: UInt64
  /// What this peer subscribed to when it came.
  let interest: Interest

  var byteCount: Int { range.count }

  /// About how many bytes it takes when it is taken apart.
  var cost: Int {
    var reader = ByteReader(block.span.bytes.extracting(range))
    guard let count = try? reader.readVarint(), count > 0 else { return byteCount * 32 }
    return Self.cost(documents: Int(clamping: min(count, UInt64(byteCount))), byteCount)
  }

  /// What a group takes by itself, and each of its documents beside what it says.
  private static let groupBytes = 192
  private static let documentBytes = 448

  static func cost(documents: Int, _ byteCount: Int) -> Int {
    groupBytes + documents * documentBytes + byteCount
  }
}
