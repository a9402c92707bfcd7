/// Why a text is not an address.
package struct AddressFault: Error {
  /// What is wrong, as the end of a sentence.
  package let reason: String

  init(_ reason: String) { self.reason = reason }
}

/// A host with a port, in text: `host:port`, `[IPv6]:port`, or either without the port.
struct HostAndPort {
  /// A name or an address, without brackets.
  let host: String
  let port: Int?

  /// Reads a text.
  ///
  /// - Throws: What is wrong with it.
  init(_ text: Substring) throws(AddressFault) {
    // A host that is written into a request, or looked up, has no other characters.
    guard text.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }), !text.contains("/") else {
      throw AddressFault("it has characters that a host cannot have")
    }
    let (host, digits) = try Self.split(text)
    guard !host.isEmpty else { throw AddressFault("it has no host") }
    self.host = String(host)
    guard let digits else {
      port = nil
      return
    }
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = Int(digits), 1...65_535 ~= port
    else { throw AddressFault("a port is a number from 1 to 65535") }
    self.port = port
  }

  private static func split(_ text: Substring) throws(AddressFault) -> (host: Substring, port: Substring?) {
    guard text.hasPrefix("[") else {
      guard let colon = text.firstIndex(of: ":") else { return (text, nil) }
      return (text[..<colon], text[text.index(after: colon)...])
    }
    guard let bracket = text.firstIndex(of: "]") else { throw AddressFault("a bracket is not closed") }
    let host = text[text.index(after: text.startIndex)..<bracket]
    let after = text[text.index(after: bracket)...]
    guard after.isEmpty || after.hasPrefix(":") else {
      throw AddressFault("after the bracket comes the port")
    }
    return (host, after.isEmpty ? nil : after.dropFirst())
  }
}
