#if Server
  import CRDTCore

  /// The memory that a JSON text takes once it is parsed, without parsing it.
  enum JSONCost {
    /// What a value takes in an array or under a name, about.
    private static let valueBytes = 32

    /// About the bytes of the values of a text, beside those of its own characters.
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
