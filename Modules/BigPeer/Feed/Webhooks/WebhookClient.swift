#if Server
  import NIOCore
  import NIOHTTP1
  import NIOPosix
  import NIOSSL

  /// Delivers to webhooks, one request a connection: bounded, within a time, and only to addresses that are allowed.
  ///
  /// A name is looked up once for a delivery, and the connection goes to an address that was looked at: a name that leads elsewhere a
  /// moment later changes nothing. Redirects are not followed.
  struct WebhookClient: Sendable {
    /// Whether addresses of this machine and of private networks are allowed, and there connections without TLS.
    var allowsPrivateAddresses = false
    /// The file with the authorities (PEM) that are trusted; `nil` takes the system's.
    var authorityFile: String?
    /// How long a delivery may take.
    var limit = Duration.seconds(5)

    /// Addresses of one host that are tried.
    private static let attempts = 4
    /// Bytes that the head of an answer may have.
    private static let headBytes = 16 << 10

    /// Sends a request, and waits until it is acknowledged.
    ///
    /// - Throws: `WebhookFailure` for anything but a status of 200 to 299, and `CancellationError`.
    func post(_ body: [UInt8], headers: [(name: String, value: String)], to address: WebhookAddress)
      async throws
    {
      let end = NIODeadline.now() + TimeAmount.milliseconds(Int64(limit / .milliseconds(1)))
      let found = try await HostResolver.addresses(of: address.host, port: address.port, within: limit)
      guard !found.isEmpty else { throw WebhookFailure("the host \(address.host) is not known") }
      let allowed = found.filter { isAllowed($0, isSecure: address.isSecure) }
      guard !allowed.isEmpty else {
        throw WebhookFailure(
          address.isSecure
            ? "\(address.host) leads to an address of a private network, which webhooks must not be at"
            : "\(address.host) leads to an address that is not private, where TLS is needed")
      }
      let context = address.isSecure ? try tls(address) : nil
      var failure: any Error = WebhookFailure("\(address) is not reached")
      for next in allowed.prefix(Self.attempts) {
        try Task.checkCancellation()
        guard NIODeadline.now() < end else { throw WebhookFailure(Self.late(address)) }
        do {
          return try await send(body, headers, address, at: next, context, until: end)
        } catch let error as WebhookFailure {
          throw error
        } catch let error as CancellationError {
          throw error
        } catch {
          failure = WebhookFailure(Self.text(error, address))
        }
      }
      throw failure
    }

    private func isAllowed(_ address: SocketAddress, isSecure: Bool) -> Bool {
      let isPublic = AddressPolicy.isPublic(address)
      return isSecure ? isPublic || allowsPrivateAddresses : !isPublic && allowsPrivateAddresses
    }

    private func tls(_ address: WebhookAddress) throws(WebhookFailure) -> NIOSSLContext {
      var configuration = TLSConfiguration.makeClientConfiguration()
      configuration.minimumTLSVersion = .tlsv12
      configuration.applicationProtocols = ["http/1.1"]
      if let authorityFile { configuration.trustRoots = .file(authorityFile) }
      do {
        return try NIOSSLContext(configuration: configuration)
      } catch {
        throw WebhookFailure("\(address) cannot be verified: \(error)")
      }
    }

    private func send(
      _ body: [UInt8], _ headers: [(name: String, value: String)], _ address: WebhookAddress,
      at place: SocketAddress, _ context: NIOSSLContext?, until end: NIODeadline
    ) async throws {
      let exchange = ExchangeBox()
      let left = end - .now()
      try await withTaskCancellationHandler {
        let answer = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
          .connectTimeout(left)
          .connect(to: place) { channel in
            channel.eventLoop.makeCompletedFuture {
              try exchange.begin(on: channel)
              let promise = channel.eventLoop.makePromise(of: Void.self)
              let handler = WebhookExchange(body, headers, address, isSecure: context != nil, end, promise)
              let pipeline = channel.pipeline.syncOperations
              do {
                if let context {
                  let isName = (try? SocketAddress(ipAddress: address.host, port: 0)) == nil
                  try pipeline.addHandler(
                    NIOSSLClientHandler(context: context, serverHostname: isName ? address.host : nil))
                }
                var heads = NIOHTTPDecoderLimitConfiguration()
                heads.maxHeaderFieldSize = Self.headBytes
                heads.maxHeaderListSize = Self.headBytes
                heads.maxHeaderFieldCount = 100
                try pipeline.addHTTPClientHandlers(decoderLimitConfiguration: heads)
                try pipeline.addHandler(handler)
              } catch {
                promise.fail(error)
                throw error
              }
              return promise.futureResult
            }
          }
        try await answer.get()
      } onCancel: {
        exchange.cancel()
      }
    }

    static func late(_ address: WebhookAddress) -> String { "\(address) has not answered in time" }

    static func text(_ error: any Error, _ address: WebhookAddress) -> String {
      switch error {
      case is ChannelError: "\(address) is not reached: \(error)"
      case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: "\(address) is not verified: \(error)"
      case is HTTPParserError: "\(address) does not answer as HTTP says"
      default: "\(address) is not reached: \(error)"
      }
    }
  }
#endif
