#if Server
  import CRDTCore

  /// Estimates the memory of a parsed JSON text, without parsing it.
  enum JSONCost {
    /// The approximate memory of a value in an array, of a name or of a value under a name, in bytes.
    private static let valueBytes = 64

    /// The approximate memory of the values of a text, besides that of its characters, in bytes.
    ///
    /// - Complexity: O(*n*)
    static func bytes(of text: [UInt8]) -> Int { JSON.valueCount(in: text.span.bytes) * valueBytes }
  }
#endif
