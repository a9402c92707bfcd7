/// What an address on the web consists of: `scheme://host:port/path`.
struct WebAddress: Hashable, Sendable {
  /// Whether TLS stands around the connection.
  let isSecure: Bool
  /// The host's name or address, an IPv6 address without its brackets.
  let host: String
  /// The port; 80 or 443 where the text has none.
  let port: Int
  /// What is asked for, with what follows a question mark; begins with a slash.
  let path: String

  /// A text that is no such address.
  struct Fault: Error {
    /// What is wrong, as the end of a sentence.
    let reason: String
  }

  /// Reads an address.
  ///
  /// - Parameters:
  ///   - text: The address.
  ///   - plain: The scheme without TLS, with the slashes; `nil` where there is none.
  ///   - secure: The scheme with TLS, with the slashes.
  /// - Throws: What is wrong with it.
  init(_ text: String, plain: String?, secure: String) throws(Fault) {
    // What is written into a request line must not end it.
    guard text.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }), !text.isEmpty else {
      throw Fault(reason: "it has characters that an address cannot have")
    }
    let lowercased = text.lowercased()
    isSecure = lowercased.hasPrefix(secure)
    guard let scheme = isSecure ? secure : plain, lowercased.hasPrefix(scheme) else {
      throw Fault(reason: "it begins with \([plain, secure].compactMap(\.self).joined(separator: " or "))")
    }
    let rest = text.dropFirst(scheme.count)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    let path = rest.dropFirst(authority.count)
    guard !authority.contains("@"), !path.contains("#") else {
      throw Fault(reason: "it names a user or a fragment")
    }
    self.path = path.hasPrefix("/") ? String(path) : "/" + path
    let (host, digits) = try Self.split(authority)
    guard !host.isEmpty else { throw Fault(reason: "it has no host") }
    self.host = String(host)
    guard let digits else {
      port = isSecure ? 443 : 80
      return
    }
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = Int(digits), 1...65_535 ~= port
    else { throw Fault(reason: "a port is a number from 1 to 65535") }
    self.port = port
  }

  private static func split(_ authority: Substring) throws(Fault) -> (host: Substring, port: Substring?) {
    guard authority.hasPrefix("[") else {
      guard let colon = authority.firstIndex(of: ":") else { return (authority, nil) }
      return (authority[..<colon], authority[authority.index(after: colon)...])
    }
    guard let bracket = authority.firstIndex(of: "]") else { throw Fault(reason: "a bracket is not closed") }
    let host = authority[authority.index(after: authority.startIndex)..<bracket]
    let after = authority[authority.index(after: bracket)...]
    guard after.isEmpty || after.hasPrefix(":") else {
      throw Fault(reason: "after the bracket comes the port")
    }
    return (host, after.isEmpty ? nil : after.dropFirst())
  }

  /// What a request names as its host.
  var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
  }
}
