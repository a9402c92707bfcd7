#if Server
  package import Facade
  import Foundation

  /// Where a webhook is: `https://host:port/path?query`, or `http://…` where that is allowed.
  package struct WebhookAddress: Hashable, Sendable {
    let text: String
    let isSecure: Bool
    /// In lower case, an IPv6 address without its brackets.
    package let host: String
    package let port: Int
    /// What a request asks for: path and query.
    package let target: String
    /// What a request names as its host.
    package let authority: String

    /// Bytes of an address.
    static let byteLimit = 2_048

    /// Reads an address.
    ///
    /// - Parameters:
    ///   - text: The address.
    ///   - allowsPlain: Whether it may be without TLS; where such an address leads is looked at when it is asked.
    /// - Throws: `argument`, saying what is wrong.
    package init(_ text: String, allowsPlain: Bool) throws(DunlinError) {
      func wrong(_ why: String) -> DunlinError { DunlinError(.argument, "the webhook's url \(why)") }
      guard text.utf8.count <= Self.byteLimit else {
        throw wrong("has more than \(Self.byteLimit) bytes")
      }
      guard text.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }), let url = URLComponents(string: text),
        let scheme = url.scheme?.lowercased(), let host = url.host, !host.isEmpty
      else { throw wrong("is no address: https://host/path") }
      guard scheme == "https" || scheme == "http" && allowsPlain else {
        throw wrong("must begin with https://")
      }
      guard url.user == nil, url.password == nil else { throw wrong("must not name a user") }
      guard url.fragment == nil else { throw wrong("must have no # and nothing behind it") }
      guard url.port.map({ (1...65_535).contains($0) }) ?? true else {
        throw wrong("has no port there can be")
      }
      self.text = text
      isSecure = scheme == "https"
      port = url.port ?? (isSecure ? 443 : 80)
      let name = host.lowercased()
      let isBracketed = name.hasPrefix("[") && name.hasSuffix("]")
      self.host = isBracketed ? String(name.dropFirst().dropLast()) : name
      let path = url.percentEncodedPath.isEmpty ? "/" : url.percentEncodedPath
      target = url.percentEncodedQuery.map { "\(path)?\($0)" } ?? path
      let written = self.host.contains(":") ? "[\(self.host)]" : self.host
      authority = port == (isSecure ? 443 : 80) ? written : "\(written):\(port)"
    }
  }

  extension WebhookAddress: CustomStringConvertible {
    /// Without the query, which may hold a secret.
    package var description: String {
      let path = target.prefix { $0 != "?" }
      return "\(isSecure ? "https" : "http")://\(authority)\(path)"
    }
  }
#endif
