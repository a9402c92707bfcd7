import CRDTCore

/// A received transaction in its encoded form.
///
/// It is decoded only shortly before it is applied, since the decoded form may take many times the memory.
struct ArrivedTransaction {
  /// The bytes of one block, which may contain several transactions.
  let block: [UInt8]
  /// The transaction's bytes within the block.
  let range: Range<Int>
  /// How many of this peer's transactions its sender had applied when its first frame came.
  let seen: UInt64
  /// This peer's interest when the transaction arrived.
  let interest: Interest

  var byteCount: Int { range.count }

  /// The approximate memory that the decoded transaction takes.
  var cost: Int {
    var reader = ByteReader(block.span.bytes.extracting(range))
    guard let count = try? reader.readVarint(), count > 0 else { return byteCount * 32 }
    return Self.cost(documents: Int(clamping: min(count, UInt64(byteCount))), byteCount)
  }

  /// The approximate memory for a transaction and for each document, in addition to the encoded bytes.
  private static let transactionBytes = 192
  private static let documentBytes = 448

  static func cost(documents: Int, _ byteCount: Int) -> Int {
    transactionBytes + documents * documentBytes + byteCount
  }
}
