import CRDTCore

/// Groups that came and are not taken apart, in their order.
///
/// Tiny groups come by the thousand in one block: beside its bytes each takes eight.
struct ArrivedQueue {
  private struct Block {
    let bytes: [UInt8]
    let ranges: [Range<Int32>]
    let begun: UInt64
    let interest: Interest

    var indexBytes: Int { 128 + ranges.count * MemoryLayout<Range<Int32>>.stride }
  }

  private var blocks = WorkQueue<Block>()
  /// Which group of the first block is the first.
  private var index = 0
  /// Bytes of memory that tell where groups lie, about.
  private(set) var indexBytes = 0

  var isEmpty: Bool { blocks.isEmpty }

  /// The one that `removeFirst` takes.
  var first: ArrivedGroup? {
    guard let block = blocks.first else { return nil }
    let range = block.ranges[index]
    return ArrivedGroup(
      block: block.bytes, range: Int(range.lowerBound)..<Int(range.upperBound), begun: block.begun,
      interest: block.interest)
  }

  /// Adds the groups of one block, of fewer than 2 GiB.
  ///
  /// `begun` is the sender's frame with which they began to come, or a later one of it, and `interest` what this peer
  /// subscribes to now.
  mutating func append(_ ranges: [Range<Int>], of bytes: [UInt8], begun: UInt64, _ interest: Interest) {
    guard !ranges.isEmpty else { return }
    let block = Block(
      bytes: bytes, ranges: ranges.map { Int32($0.lowerBound)..<Int32($0.upperBound) }, begun: begun,
      interest: interest)
    blocks.append(block)
    indexBytes += block.indexBytes
  }

  mutating func removeFirst() {
    guard let block = blocks.first else { return }
    index += 1
    guard index == block.ranges.count else { return }
    _ = blocks.removeFirst()
    indexBytes -= block.indexBytes
    index = 0
  }
}
