/// The parts of a web address: `scheme://host:port/path`.
struct WebAddress: Hashable, Sendable {
  /// Whether the connection uses TLS.
  let isSecure: Bool
  /// The host's name or address, an IPv6 address without its brackets.
  let host: String
  /// The port; 80 or 443 if the text has none.
  let port: Int
  /// The path and the query; begins with a slash.
  let path: String

  /// Reads an address.
  ///
  /// - Parameters:
  ///   - text: The address.
  ///   - plain: The scheme without TLS, with the slashes; `nil` for none.
  ///   - secure: The scheme with TLS, with the slashes.
  /// - Throws: What is wrong with the text.
  init(_ text: String, plain: String?, secure: String) throws(AddressFault) {
    // Text in a request line must not end the line.
    guard text.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }), !text.isEmpty else {
      throw AddressFault("it has characters that an address cannot have")
    }
    let lowercased = text.lowercased()
    isSecure = lowercased.hasPrefix(secure)
    guard let scheme = isSecure ? secure : plain, lowercased.hasPrefix(scheme) else {
      throw AddressFault("it begins with \([plain, secure].compactMap(\.self).joined(separator: " or "))")
    }
    let rest = text.dropFirst(scheme.count)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    let path = rest.dropFirst(authority.count)
    guard !authority.contains("@"), !rest.contains("#") else {
      throw AddressFault("it names a user or a fragment")
    }
    self.path = path.hasPrefix("/") ? String(path) : "/" + path
    let parts = try HostAndPort(authority)
    host = parts.host
    port = parts.port ?? (isSecure ? 443 : 80)
  }

  /// The value of a request's host header.
  var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
  }
}
