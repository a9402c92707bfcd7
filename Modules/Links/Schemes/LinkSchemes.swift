/// All kinds of links that the package makes by itself.
package enum LinkSchemes {
  /// The kind of addresses without a scheme, `host:port`.
  ///
  /// Neighbours that find each other connect by it too.
  package static let standard = TCPScheme()

  /// The kind that refuses URLs of unknown schemes: its error names the schemes that there are.
  private static let web = WebSocketScheme()

  /// The kinds whose addresses are URLs.
  private static let byURL: [any LinkScheme] = [web]

  /// Whether an address is written as a URL, and not as `host:port`.
  ///
  /// - Complexity: O(*n*) in the text.
  package static func isURL(_ text: String) -> Bool { text.contains("://") }

  /// Reads a URL.
  ///
  /// - Parameter url: The URL, whose scheme may have letters of either case.
  /// - Returns: The address, which can be dialed.
  /// - Throws: `unreachable`, saying what is wrong.
  package static func address(url: String) throws(LinkError) -> LinkAddress {
    let scheme = url.prefix { $0 != ":" }.lowercased()
    return try (byURL.first { $0.urlSchemes.contains(scheme) } ?? web).address(url)
  }
}
