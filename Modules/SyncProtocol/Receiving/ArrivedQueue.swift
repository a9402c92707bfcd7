import CRDTCore

/// Received transactions that are not decoded yet, in order.
///
/// One block may contain thousands of tiny transactions. Each costs eight bytes in addition to its own.
struct ArrivedQueue {
  private struct Block {
    let bytes: [UInt8]
    let ranges: [Range<Int32>]
    let seen: UInt64
    let interest: Interest

    var indexBytes: Int { 128 + ranges.count * MemoryLayout<Range<Int32>>.stride }
  }

  private var blocks = WorkQueue<Block>()
  /// The index of the first remaining transaction in the first block.
  private var index = 0
  /// The approximate memory for the index of all blocks.
  private(set) var indexBytes = 0

  var isEmpty: Bool { blocks.isEmpty }

  /// The transaction that `removeFirst` removes.
  var first: ArrivedTransaction? {
    guard let block = blocks.first else { return nil }
    let range = block.ranges[index]
    return ArrivedTransaction(
      block: block.bytes, range: Int(range.lowerBound)..<Int(range.upperBound), seen: block.seen,
      interest: block.interest)
  }

  /// Adds the transactions of one block, which is smaller than 2 GiB.
  ///
  /// - Parameters:
  ///   - ranges: The bytes of each transaction within the block.
  ///   - bytes: The block.
  ///   - seen: How many of this peer's transactions their sender had applied when their first frame came.
  ///   - interest: What this peer subscribes to now.
  mutating func append(_ ranges: [Range<Int>], of bytes: [UInt8], seen: UInt64, _ interest: Interest) {
    guard !ranges.isEmpty else { return }
    let block = Block(
      bytes: bytes, ranges: ranges.map { Int32($0.lowerBound)..<Int32($0.upperBound) }, seen: seen,
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
