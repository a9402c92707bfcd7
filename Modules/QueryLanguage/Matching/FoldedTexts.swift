import CRDTCore

/// The texts of one record in lower case, each made when the first predicate reads it.
package final class FoldedTexts {
  /// The folded texts, by their offset in the record.
  private var known: [(start: Int, bytes: [UInt8])] = []

  /// A text of a record, folded as ``CaseFolding`` does.
  ///
  /// - Complexity: O(*n*) in the bytes of the text the first time, then O(*t*) in the texts that are known.
  func folded(_ text: RawSpan, of record: RawSpan) -> [UInt8] {
    guard text.byteCount > 0, let start = record.byteOffsets(of: text)?.lowerBound else { return [] }
    for entry in known where entry.start == start { return entry.bytes }
    let bytes = CaseFolding.folded(text)
    known.append((start, bytes))
    return bytes
  }
}
