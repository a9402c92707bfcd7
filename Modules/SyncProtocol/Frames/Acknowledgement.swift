import CRDTCore

/// The data that a receiver has processed, as totals of the session.
///
/// Data counts once it is applied and durable, or staged if its transaction is not complete yet.
struct Acknowledgement: Hashable {
  /// Bytes of fragment, chunk and reuse frames.
  var wireBytes: UInt64 = 0
  /// Plain bytes in these frames.
  var plainBytes: UInt64 = 0
  /// Transactions applied, or left out because their base is missing, in the order of their completion.
  var transactions: UInt64 = 0
  /// The credit: plain bytes that the receiver accepts beyond these totals.
  var room: UInt64 = 0

  init() {}

  /// Whether no total is below that of another acknowledgement.
  func isAhead(of other: Acknowledgement) -> Bool {
    wireBytes >= other.wireBytes && plainBytes >= other.plainBytes && transactions >= other.transactions
  }

  func encode(to out: inout ByteWriter) {
    out.writeVarint(wireBytes)
    out.writeVarint(plainBytes)
    out.writeVarint(transactions)
    out.writeVarint(room)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    wireBytes = try reader.readVarint()
    plainBytes = try reader.readVarint()
    transactions = try reader.readVarint()
    room = try reader.readVarint()
  }
}
