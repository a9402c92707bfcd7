#if Server
  import CRDTCore

  /// Estimates the memory of a parsed JSON text, without parsing it.
  enum JSONCost {
    /// The approximate memory of a value in an array or under a name, in bytes.
    private static let valueBytes = 32

    /// The approximate memory of the values of a text, besides that of its characters, in bytes.
    ///
    /// - Complexity: O(*n*)
    static func bytes(of text: [UInt8]) -> Int {
      var values = 0
      var isInText = false
      var isEscaped = false
      for byte in text {
        if isInText {
          if isEscaped {
            isEscaped = false
          } else if byte == UInt8(ascii: "\\") {
            isEscaped = true
          } else if byte == UInt8(ascii: "\"") {
            isInText = false
          }
          continue
        }
        switch byte {
        case UInt8(ascii: "\""): isInText = true
        case UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "{"): values += 1
        default: break
        }
      }
      return values * valueBytes
    }
  }
#endif
