import CRDTCore

/// Expands what a packer has packed.
final class Unpacker {
  private var stream: Inflater?
  private var alone: Inflater?
  private lazy var dense = DenseCoder()

  /// Appends a fragment's plain bytes.
  func expand(_ head: FragmentHead, _ content: RawSpan, into output: inout [UInt8]) throws(SyncError) {
    switch head.packing {
    case nil: return
    case .stored?: unsafe content.withUnsafeBytes { unsafe output.append(contentsOf: $0) }
    case .dense?: try dense.expand(content, plainCount: head.plainBytes, into: &output)
    case .deflated?:
      let inflater: Inflater
      if let stream { inflater = stream } else { inflater = try Inflater() }
      stream = inflater
      try inflater.expandNext(content, plainCount: head.plainBytes, into: &output)
    }
  }

  /// Teaches the dense model bytes that were here already.
  func learn(_ plain: RawSpan) { dense.learn(plain) }

  /// Appends a chunk's plain bytes to the earlier bytes of its transaction.
  func expand(_ head: ChunkHead, _ content: RawSpan, onto transaction: inout [UInt8]) throws(SyncError) {
    switch head.packing {
    case nil: return
    case .stored?: unsafe content.withUnsafeBytes { unsafe transaction.append(contentsOf: $0) }
    case .dense?: try dense.expand(content, plainCount: head.plainBytes, into: &transaction)
    case .deflated?:
      let inflater: Inflater
      if let alone { inflater = alone } else { inflater = try Inflater() }
      alone = inflater
      let dictionary = Array(transaction.suffix(Packer.dictionaryBytes))
      try inflater.expandAlone(
        content, after: dictionary.span.bytes, plainCount: head.plainBytes, into: &transaction)
    }
  }
}
