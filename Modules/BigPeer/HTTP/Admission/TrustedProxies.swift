#if Server
  import HTTPTypes
  import Links
  import NIOCore

  /// The web proxies before the HTTP listener, and what they report of a client.
  struct TrustedProxies: Sendable {
    /// What one proxy reports of the connection that it has accepted.
    struct Element: Equatable {
      /// The other end of that connection.
      var client: Substring
      /// Its scheme, `http` or `https`.
      var scheme: Substring?
    }

    let addresses: ProxyAddresses
    private let header: BigPeerConfiguration.ProxyHeader
    /// Whether a request that a client has sent to a proxy without TLS is refused.
    let requiresTLS: Bool

    init(_ configuration: BigPeerConfiguration.HTTP) {
      addresses = ProxyAddresses(configuration.proxies)
      header = configuration.proxyHeader
      requiresTLS = configuration.isBehindProxies
    }

    /// What the proxies have written in a request, the nearest last; a header of another name is not read.
    func elements(of headers: HTTPFields) -> [Element] {
      switch header {
      case .forwarded: return headers[values: .forwarded].flatMap { Self.elements(forwarded: $0[...]) }
      case .forwardedFor:
        let schemes = Self.list(headers[values: .forwardedProto])
        let clients = Self.list(headers[values: .forwardedFor])
        guard !clients.isEmpty else { return schemes.last.map { [Element(client: "", scheme: $0)] } ?? [] }
        // Most proxies write one scheme, that of the connection that they have accepted.
        return zip(clients.indices, clients).map { index, client in
          Element(client: client, scheme: schemes.count == clients.count ? schemes[index] : schemes.last)
        }
      }
    }

    private static func list(_ lines: [String]) -> [Substring] {
      lines.flatMap { line in line.split(separator: ",").map { $0.trimmed } }
    }

    /// The elements of a `Forwarded` header.
    ///
    /// Source: RFC 7239, "Forwarded HTTP Extension", section 4.
    static func elements(forwarded line: Substring) -> [Element] {
      split(line, at: ",").filter { !$0.isEmpty }.map { element in
        // A proxy that names nobody is not passed over, as what precedes it may be the client's.
        var found = Element(client: "unknown")
        for pair in split(element, at: ";") {
          guard let equals = pair.firstIndex(of: "=") else { continue }
          let value = unquoted(pair[pair.index(after: equals)...].trimmed)
          switch pair[..<equals].trimmed.lowercased() {
          case "for": found.client = value
          case "proto": found.scheme = value
          default: continue
          }
        }
        return found
      }
    }

    /// The parts of a text between separators that do not stand in quotes.
    private static func split(_ text: Substring, at separator: Character) -> [Substring] {
      var parts: [Substring] = []
      var (start, isQuoted, isEscaped) = (text.startIndex, false, false)
      for index in text.indices {
        if isEscaped {
          isEscaped = false
        } else if isQuoted, text[index] == "\\" {
          isEscaped = true
        } else if text[index] == "\"" {
          isQuoted.toggle()
        } else if !isQuoted, text[index] == separator {
          parts.append(text[start..<index].trimmed)
          start = text.index(after: index)
        }
      }
      parts.append(text[start...].trimmed)
      return parts
    }

    /// A value without its quotes; an address and a scheme need no escapes.
    private static func unquoted(_ value: Substring) -> Substring {
      let isQuoted = value.count >= 2 && value.hasPrefix("\"") && value.hasSuffix("\"")
      return isQuoted ? value.dropFirst().dropLast() : value
    }
  }

  extension Substring {
    /// Without spaces and tabs at its ends.
    fileprivate var trimmed: Substring {
      func isSpace(_ character: Character) -> Bool { character == " " || character == "\t" }
      let rest = drop(while: isSpace)
      guard let last = rest.lastIndex(where: { !isSpace($0) }) else { return rest.prefix(0) }
      return rest[...last]
    }
  }

  extension HTTPField.Name {
    fileprivate static let forwarded = proxy("Forwarded")
    fileprivate static let forwardedFor = proxy("X-Forwarded-For")
    fileprivate static let forwardedProto = proxy("X-Forwarded-Proto")

    private static func proxy(_ text: String) -> HTTPField.Name {
      guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is no header's name") }
      return name
    }
  }
#endif
