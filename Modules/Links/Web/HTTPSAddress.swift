#if TLS
  /// The address of a web service: `https://host:port/path?query`; without TLS only if the caller allows it.
  package struct HTTPSAddress: Hashable, Sendable, CustomStringConvertible {
    /// The host's name or address in lower case; an IPv6 address has no brackets.
    package let host: String
    /// The port; 443 if the text has none.
    package let port: Int
    /// The path; empty, or with a slash at its beginning.
    package let path: String
    /// The query with its question mark; it may contain a secret.
    private let query: String
    /// The value of a request's host header.
    package let authority: String
    /// Whether the address is without TLS.
    package let isPlain: Bool
    /// Whether messages and log lines contain the path, because it contains no secret.
    private let showsPath: Bool

    /// The target of a request: path and query.
    package var target: String { (path.isEmpty ? "/" : path) + query }

    /// Reads the base address of a service, without a query; slashes at its end are removed.
    ///
    /// - Throws: `argument`, saying what is wrong.
    package init(_ text: String) throws(LoginError) {
      try self.init(text, plain: nil, showsPath: true) { why in
        LoginError(.argument, "\"\(text)\" is no address of a login service: \(why)")
      }
    }

    /// Reads the address of a webhook, which on this machine may be without TLS.
    ///
    /// An example is `http://127.0.0.1:3000/path`. Messages contain no path, which may be a secret.
    ///
    /// - Throws: `argument`, saying what is wrong.
    package init(orLoopback text: String) throws(LoginError) {
      func wrong(_ why: String) -> LoginError {
        LoginError(.argument, "\"\(text)\" is no address of a web service: \(why)")
      }
      try self.init(text, plain: "http://", showsPath: false, wrong)
      guard !isPlain || Self.loopback.contains(host) else {
        throw wrong("without TLS it must be on this machine: http://127.0.0.1:port or http://[::1]:port")
      }
    }

    /// Addresses of this machine, independent of a resolver.
    private static let loopback: Set<String> = ["127.0.0.1", "::1"]

    /// Reads a full address with its query; messages contain neither the path nor the query.
    ///
    /// - Parameters:
    ///   - text: The address.
    ///   - allowsPlain: Whether any host may be without TLS.
    /// - Throws: What is wrong, as the end of a sentence.
    package init(request text: String, allowsPlain: Bool) throws(AddressFault) {
      let address = try WebAddress(text, plain: allowsPlain ? "http://" : nil, secure: "https://")
      let path = address.path.prefix { $0 != "?" }
      self.init(
        address, path: String(path), query: String(address.path.dropFirst(path.count)), showsPath: false)
    }

    private init(
      _ text: String, plain: String?, showsPath: Bool, _ wrong: (String) -> LoginError
    ) throws(LoginError) {
      let address: WebAddress
      do {
        address = try WebAddress(text, plain: plain, secure: "https://")
      } catch {
        throw wrong(error.reason)
      }
      guard !address.path.contains("?") else { throw wrong("it has a question mark") }
      self.init(
        address, path: String(address.path.reversed().drop { $0 == "/" }.reversed()), query: "",
        showsPath: showsPath)
    }

    private init(_ address: WebAddress, path: String, query: String, showsPath: Bool) {
      host = address.host.lowercased()
      port = address.port
      authority = address.authority.lowercased()
      isPlain = !address.isSecure
      (self.path, self.query, self.showsPath) = (path, query, showsPath)
    }

    private init(_ base: HTTPSAddress, path: String) {
      (host, port, authority, self.path) = (base.host, base.port, base.authority, path)
      (isPlain, query, showsPath) = (base.isPlain, "", base.showsPath)
    }

    /// The address of a part of the service.
    func part(_ name: String) -> HTTPSAddress { HTTPSAddress(self, path: path + "/" + name) }

    /// The canonical form of the address, which a login's signature covers.
    ///
    /// The host is in lower case, the port is omitted if it is the default, and there is no query. The path
    /// of a webhook is left out: it may be a secret, and the description is for messages.
    package var description: String {
      "\(isPlain ? "http" : "https")://\(authority)\(showsPath ? path : "")"
    }
  }
#endif
