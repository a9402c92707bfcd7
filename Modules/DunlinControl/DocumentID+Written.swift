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
        try self.init(Self.value(written: text))
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

  /// The value that a text stands for; a fraction and `null` are no ids, so these are texts.
  private static func value(written text: String) -> Value {
    switch try? JSON.parse(text) {
    case .double?, .null?, nil: .string(text)
    case let value?: value
    }
  }

  /// The other id that users may mean by a text: `7` may be a number or a text, and so may `"7"`.
  ///
  /// - Parameter text: The id as users write it.
  /// - Returns: The other id; `nil` where the text has one meaning.
  package static func alternative(toWritten text: String) -> DocumentID? {
    guard !text.hasPrefix(hexPrefix), let value = try? JSON.parse(text) else { return nil }
    switch value {
    case .string(let inner):
      let other = self.value(written: inner)
      if case .string = other { return nil }
      return try? DocumentID(other)
    case .int, .bool: return try? DocumentID(.string(text))
    default: return nil
    }
  }
}
