package import CRDTCore

/// A sender's forecast: how many documents it sends without requests in a reconciliation.
package struct ForecastFrame: Hashable, Sendable {
  /// The receiver's number of the reconciliation.
  package var reconciliation: UInt64
  /// The documents of all collections that are sent as wholes.
  package var documents: UInt64
  /// Whether some of them may not match the receiver's interest.
  package var isEstimate: Bool

  private static let estimateFlag: UInt8 = 1

  /// Makes a forecast.
  package init(reconciliation: UInt64, documents: UInt64, isEstimate: Bool) {
    (self.reconciliation, self.documents, self.isEstimate) = (reconciliation, documents, isEstimate)
  }

  package func encode(to out: inout ByteWriter) {
    out.writeVarint(reconciliation)
    out.writeVarint(documents)
    out.write(isEstimate ? Self.estimateFlag : 0)
  }

  package init(from reader: inout ByteReader) throws(CodecError) {
    reconciliation = try reader.readVarint()
    documents = try reader.readVarint()
    let flags = try reader.readByte()
    guard flags & ~Self.estimateFlag == 0 else {
      throw reader.failure(.malformed, "a forecast has unknown flags")
    }
    isEstimate = flags & Self.estimateFlag != 0
  }
}
