#if Server
  package import Facade
  import NIOCore
  package import Transports

  /// Where a webhook is: `https://host:port/path?query`, or `http://…` where that is allowed.
  package struct WebhookAddress: Hashable, Sendable {
    package let web: HTTPSAddress

    /// Bytes of an address.
    static let byteLimit = 2_048

    /// Reads an address.
    ///
    /// - Parameters:
    ///   - text: The address.
    ///   - allowsPlain: Whether it may be without TLS; where such an address leads is checked for each delivery.
    /// - Throws: `argument`, saying what is wrong; never with the address, which may hold a secret.
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

    /// Sees to it that deliveries may go there, as far as the url says it: a name is looked up for each delivery.
    ///
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
