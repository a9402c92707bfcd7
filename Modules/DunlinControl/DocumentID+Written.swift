package import CRDTCore

extension DocumentID {
  private static let hexPrefix = "hex:"

  /// Reads an id as users write it.
  ///
  /// The text is JSON, plain text for a string, or `hex:` and the digits that `verify` prints.
  ///
  /// - Throws: `invalidDocumentID`.
  package init(written text: String) throws(ControlError) {
    guard text.hasPrefix(Self.hexPrefix) else {
      do {
        try self.init((try? JSON.parse(text)) ?? .string(text))
      } catch {
        throw ControlError(.invalidDocumentID, error.message)
      }
      return
    }
    let digits = Array(text.dropFirst(Self.hexPrefix.count).utf8)
    let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap { place in
      UInt8(String(decoding: digits[place..<place + 2], as: UTF8.self), radix: 16)
    }
    guard !bytes.isEmpty, bytes.count * 2 == digits.count else {
      throw ControlError(.invalidDocumentID, "\(text): after hex: come pairs of hexadecimal digits")
    }
    // The id is not validated, since it may be the damaged part.
    self.init(trusted: bytes)
  }
}
