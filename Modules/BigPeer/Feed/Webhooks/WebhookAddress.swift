#if Server
  package import Facade
  package import Links
  import NIOCore

  /// The address of a webhook: `https://host:port/path?query`, or `http://…` if that is allowed.
  package struct WebhookAddress: Hashable, Sendable {
    package let web: HTTPSAddress

    /// The maximum length of an address, in bytes.
    static let byteLimit = 2_048

    /// Reads an address.
    ///
    /// - Parameters:
    ///   - text: The address.
    ///   - allowsPlain: Whether it may be without TLS; each delivery checks the target of such an address.
    /// - Throws: `argument`, with what is wrong. The error never contains the address, which may contain a
    ///   secret.
    package init(_ text: String, allowsPlain: Bool) throws(DunlinError) {
      guard text.utf8.count <= Self.byteLimit else {
        throw DunlinError(.argument, "the webhook's url has more than \(Self.byteLimit) bytes")
      }
      do throws(AddressFault) {
        web = try HTTPSAddress(request: text, allowsPlain: allowsPlain)
      } catch {
        let hint =
          allowsPlain || !text.hasPrefix("http://")
          ? "" : "; http:// is for private networks, with feed.allowPrivateAddresses"
        throw DunlinError(.argument, "the webhook's url is no address: \(error.reason)\(hint)")
      }
    }

    /// Checks whether deliveries to this address are allowed, if the host is an IP address.
    ///
    /// A host name is resolved and checked at each delivery.
    /// - Throws: `argument`, naming the setting.
    func check(allowsPrivateAddresses: Bool) throws(DunlinError) {
      guard let address = try? SocketAddress(ipAddress: web.host, port: web.port) else { return }
      let isPublic = AddressPolicy.isPublic(address)
      guard isPublic || allowsPrivateAddresses else {
        throw DunlinError(
          .argument,
          "the webhook's url is an address of a private network, which needs the setting feed.allowPrivateAddresses"
        )
      }
      guard !isPublic || !web.isPlain else {
        throw DunlinError(
          .argument, "the webhook's url is an address that is not private, where https:// is needed")
      }
    }
  }
#endif
