#if TLS
  /// Where a web service is: `https://host:port/path`; there is no way to name one without TLS.
  package struct HTTPSAddress: Hashable, Sendable, CustomStringConvertible {
    /// The host's name or address, in lower case, an IPv6 address without its brackets.
    package let host: String
    /// The port; 443 where the text has none.
    package let port: Int
    /// What is asked for; empty, or with a slash at its beginning and none at its end.
    package let path: String
    /// What a request names as its host.
    let authority: String

    /// Reads an address.
    ///
    /// - Throws: `argument`, saying what is wrong.
    package init(_ text: String) throws(LoginError) {
      func wrong(_ why: String) -> LoginError {
        LoginError(.argument, "\"\(text)\" is no address of a login service: \(why)")
      }
      let address: WebAddress
      do {
        address = try WebAddress(text, plain: nil, secure: "https://")
      } catch {
        throw wrong(error.reason)
      }
      guard !address.path.contains("?") else { throw wrong("it has a question mark") }
      host = address.host.lowercased()
      port = address.port
      authority = address.authority.lowercased()
      path = String(address.path.reversed().drop { $0 == "/" }.reversed())
    }

    private init(_ base: HTTPSAddress, path: String) {
      (host, port, authority, self.path) = (base.host, base.port, base.authority, path)
    }

    /// The address of a part of the service.
    func part(_ name: String) -> HTTPSAddress { HTTPSAddress(self, path: path + "/" + name) }

    /// The one form of the address, which a login's signature covers: the host in lower case, the port only where it is not 443,
    /// and no slash at the end.
    package var description: String { "https://\(authority)\(path)" }
  }
#endif
