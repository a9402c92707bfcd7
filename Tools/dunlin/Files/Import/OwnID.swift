import CRDTCore

/// Whether the text of a JSON object has an `_id`, found without reading its values.
enum OwnID {
  enum Finding: Equatable {
    case present
    /// There is none; it can be inserted before the closing brace, after a comma if there are other members.
    case absent(brace: Int, isEmpty: Bool)
    /// The text must be read to know.
    case unknown
  }

  /// Looks at the keys of the outermost object.
  ///
  /// - Complexity: O(*n*).
  static func find(in text: RawSpan) -> Finding {
    var (depth, isKey, offset, members) = (0, false, 0, 0)
    var isTagged = false
    var brace: Int?
    while offset < text.byteCount {
      let byte = text[offset]
      if brace != nil, ![0x20, 0x09, 0x0A, 0x0D].contains(byte) { return .unknown }
      switch byte {
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        if depth == 0, byte == UInt8(ascii: "[") { return .unknown }
        depth += 1
        isKey = depth == 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        if depth == 0, byte == UInt8(ascii: "}") { brace = offset }
        if depth < 0 || depth == 0 && brace == nil { return .unknown }
      case UInt8(ascii: ","): isKey = depth == 1
      case UInt8(ascii: "\""):
        let start = offset + 1
        guard let end = end(ofString: text, from: start) else { return .unknown }
        if isKey {
          members += 1
          isTagged = isTagged || start < end && text[start] == UInt8(ascii: "$")
          switch kind(ofKey: text, start..<end) {
          case .present: return .present
          case .unknown: return .unknown
          case .absent: break
          }
        }
        isKey = false
        offset = end
      default: break
      }
      offset += 1
    }
    // A map of one key with a dollar sign stands for something else, and would not with another key.
    guard depth == 0, let brace, !(members == 1 && isTagged) else { return .unknown }
    return .absent(brace: brace, isEmpty: members == 0)
  }

  private static func end(ofString text: RawSpan, from start: Int) -> Int? {
    var offset = start
    while offset < text.byteCount {
      switch text[offset] {
      case UInt8(ascii: "\""): return offset
      case UInt8(ascii: "\\"): offset += 2
      default: offset += 1
      }
    }
    return nil
  }

  private static func kind(ofKey text: RawSpan, _ range: Range<Int>) -> Finding {
    for offset in range where text[offset] == UInt8(ascii: "\\") { return .unknown }
    let isID =
      range.count == 3 && text[range.lowerBound] == UInt8(ascii: "_")
      && text[range.lowerBound + 1] == UInt8(ascii: "i") && text[range.lowerBound + 2] == UInt8(ascii: "d")
    return isID ? .present : .absent(brace: 0, isEmpty: false)
  }

  /// The text with an id, which it has none of.
  static func adding(_ id: String, to text: RawSpan, brace: Int, isEmpty: Bool) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.byteCount + id.utf8.count + 10)
    text.extracting(0..<brace).withUnsafeBytes { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: Array((isEmpty ? "" : ",").utf8))
    JSON.write(.map(["_id": .string(id)]), to: &bytes)
    // The braces of the object that was written are those of the text.
    let open = brace + (isEmpty ? 0 : 1)
    bytes.remove(at: open)
    return bytes
  }
}
