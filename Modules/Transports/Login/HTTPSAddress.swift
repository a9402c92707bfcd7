#if TLS
  /// Where a web service is: `https://host:port/path`; without TLS only one of this very machine can be named, and only by who asks for
  /// that.
  package struct HTTPSAddress: Hashable, Sendable, CustomStringConvertible {
    /// The host's name or address, in lower case, an IPv6 address without its brackets.
    package let host: String
    /// The port; 443 where the text has none.
    package let port: Int
    /// What is asked for; empty, or with a slash at its beginning and none at its end.
    package let path: String
    /// What a request names as its host.
    let authority: String
    /// Whether there is no TLS; then the host is an address of this machine.
    package let isPlain: Bool

    /// Reads an address.
    ///
    /// - Throws: `argument`, saying what is wrong.
    package init(_ text: String) throws(LoginError) {
      try self.init(text, plain: nil) { why in
        LoginError(.argument, "\"\(text)\" is no address of a login service: \(why)")
      }
    }

    /// Reads an address that may also be one of this machine without TLS, such as `http://127.0.0.1:3000/path`.
    ///
    /// - Throws: `argument`, saying what is wrong.
    package init(orLoopback text: String) throws(LoginError) {
      func wrong(_ why: String) -> LoginError {
        LoginError(.argument, "\"\(text)\" is no address of a web service: \(why)")
      }
      try self.init(text, plain: "http://", wrong)
      guard !isPlain || Self.loopback.contains(host) else {
        throw wrong("without TLS it must be on this machine: http://127.0.0.1:port or http://[::1]:port")
      }
    }

    /// Addresses that are this machine's, whatever a resolver may say.
    private static let loopback: Set<String> = ["127.0.0.1", "::1"]

    private init(_ text: String, plain: String?, _ wrong: (String) -> LoginError) throws(LoginError) {
      let address: WebAddress
      do {
        address = try WebAddress(text, plain: plain, secure: "https://")
      } catch {
        throw wrong(error.reason)
      }
      guard !address.path.contains("?") else { throw wrong("it has a question mark") }
      host = address.host.lowercased()
      port = address.port
      authority = address.authority.lowercased()
      isPlain = !address.isSecure
      path = String(address.path.reversed().drop { $0 == "/" }.reversed())
    }

    private init(_ base: HTTPSAddress, path: String) {
      (host, port, authority, self.path) = (base.host, base.port, base.authority, path)
      isPlain = base.isPlain
    }

    /// The address of a part of the service.
    func part(_ name: String) -> HTTPSAddress { HTTPSAddress(self, path: path + "/" + name) }

    /// The one form of the address, which a login's signature covers: the host in lower case, the port only where it is not 443,
    /// and no slash at the end.
    package var description: String { "\(isPlain ? "http" : "https")://\(authority)\(path)" }
  }
#endif
