#if Server
  /// An address to listen on.
  public struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
    /// The address of an interface, without brackets.
    ///
    /// 127.0.0.1 is only this machine, 0.0.0.0 is every network of it.
    public let host: String
    /// The port; 0 chooses any free port.
    public let port: Int

    /// Makes an address.
    public init(host: String, port: Int) {
      // The name always means this machine, whatever a resolver returns.
      self.host = host == "localhost" ? "127.0.0.1" : host
      self.port = port
    }

    /// The message that describes a valid text.
    static let expectation =
      "must be host:port with a port from 0 to 65535; an IPv6 address stands in brackets"

    /// The message that describes a valid text of a proxy.
    static let proxyExpectation =
      "10.0.0.1 or fd00::1 without a port, or a network such as 10.0.0.0/8, but not of all addresses"

    /// Reads `host:port`; an IPv6 address is in brackets.
    ///
    /// - Returns: `nil` for any other text.
    public init?(_ text: String) {
      guard text.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }), !text.contains("/"),
        let colon = text.lastIndex(of: ":")
      else { return nil }
      let digits = text[text.index(after: colon)...]
      var host = text[..<colon]
      if host.hasPrefix("["), host.hasSuffix("]") {
        host = host.dropFirst().dropLast()
      } else if host.contains(":") {
        return nil
      }
      guard !host.isEmpty, !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        let port = Int(digits), 0...65_535 ~= port
      else { return nil }
      self.init(host: String(host), port: port)
    }

    /// Whether only this machine can connect to it.
    public var isLoopback: Bool {
      if host == "::1" { return true }
      let parts = host.split(separator: ".", omittingEmptySubsequences: false)
      return parts.count == 4 && parts.first == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
  }
#endif
