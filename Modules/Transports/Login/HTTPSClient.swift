#if TLS
  package import Foundation
  import NIOCore
  import NIOHTTP1
  import NIOPosix
  import NIOSSL

  /// Asks web services questions, one a connection: strict, bounded, and over TLS unless the service is on this machine.
  ///
  /// The service's certificate is verified like any web client does. Redirects are not followed, nothing is kept between two
  /// questions, and proxies and cookies are unknown to it.
  package struct HTTPSClient: Sendable {
    /// How long a question may take, and how long its answer may be.
    package struct Limits: Hashable, Sendable {
      /// How long it may take until the connection is there, and then until TLS is.
      package var connecting: Duration = .seconds(10)
      /// How long the whole may take once TCP has connected.
      package var answering: Duration = .seconds(30)
      /// Bytes that the answer may have, without its head.
      package var bodyBytes = 64 << 10
      /// Bytes that the answer's head may have.
      package var headBytes = 16 << 10

      package init() {}
    }

    /// A file with the authorities (PEM) that the service's certificate is verified against; `nil` takes the system's.
    package var authorityFile: String?
    package var limits = Limits()

    package init(authorityFile: String? = nil) { self.authorityFile = authorityFile }

    /// Sends JSON to a service, and waits for its answer.
    ///
    /// - Parameters:
    ///   - body: The JSON text.
    ///   - address: Where to.
    /// - Returns: The answer, whatever its status.
    /// - Throws: `unreachable`, `timedOut`, `untrusted`, `answer` when it is no answer of HTTP or too long, `cancelled`; the
    ///   message names the address.
    package func post(_ body: [UInt8], to address: HTTPSAddress) async throws(LoginError) -> HTTPSAnswer {
      let attempt = ConnectionAttempt()
      do {
        try TCP.checkDescriptors("\(address)")
        let context = address.isPlain ? nil : try context(address)
        return try await withTaskCancellationHandler {
          let answer = try await ClientBootstrap(group: TCP.group)
            .connectTimeout(TimeAmount(limits.connecting))
            .connect(host: address.host, port: address.port) { channel in
              channel.eventLoop.makeCompletedFuture {
                try attempt.begin(on: channel)
                return try prepare(channel, context, body, address)
              }
            }
          return try await answer.get()
        } onCancel: {
          attempt.cancel()
        }
      } catch {
        throw Task.isCancelled ? .cancelled : Self.failure(error, address)
      }
    }

    /// What TLS needs: at least TLS 1.2, and the authorities that are trusted.
    private func context(_ address: HTTPSAddress) throws(LoginError) -> NIOSSLContext {
      var configuration = TLSConfiguration.makeClientConfiguration()
      configuration.minimumTLSVersion = .tlsv12
      configuration.applicationProtocols = ["http/1.1"]
      if let authorityFile { configuration.trustRoots = .file(authorityFile) }
      do {
        return try NIOSSLContext(configuration: configuration)
      } catch {
        let roots = authorityFile.map { "in \($0)" } ?? "of the system"
        throw LoginError(
          .untrusted, "\(address) cannot be verified: the authorities \(roots) cannot be read (\(error))")
      }
    }

    /// Puts the handlers on a channel that is being made; on its event loop.
    private func prepare(
      _ channel: any Channel, _ context: NIOSSLContext?, _ body: [UInt8], _ address: HTTPSAddress
    ) throws -> EventLoopFuture<HTTPSAnswer> {
      let isName = (try? SocketAddress(ipAddress: address.host, port: 0)) == nil
      let tls = try context.map {
        try NIOSSLClientHandler(context: $0, serverHostname: isName ? address.host : nil)
      }
      let exchange = HTTPSExchange(
        body, address, limits, tls, channel.eventLoop.makePromise(of: HTTPSAnswer.self))
      var heads = NIOHTTPDecoderLimitConfiguration()
      heads.maxHeaderFieldSize = limits.headBytes / 2
      heads.maxHeaderListSize = limits.headBytes
      heads.maxHeaderFieldCount = 64
      let pipeline = channel.pipeline.syncOperations
      do {
        if let tls { try pipeline.addHandler(tls) }
        try pipeline.addHTTPClientHandlers(decoderLimitConfiguration: heads)
        try pipeline.addHandler(exchange)
      } catch {
        exchange.promise.fail(error)
        throw error
      }
      return exchange.promise.futureResult
    }

    /// What a failure means, beside those that the exchange has found itself.
    private static func failure(_ error: any Error, _ address: HTTPSAddress) -> LoginError {
      if let error = error as? LoginError { return error }
      let error = LinkError(tcp: error, "Cannot reach \(address)")
      let code: LoginError.Code =
        switch error.code {
        case .timedOut: .timedOut
        case .cancelled: .cancelled
        case .untrusted: .untrusted
        default: .unreachable
        }
      return LoginError(code, error.message)
    }
  }

  /// What a web service has answered.
  package struct HTTPSAnswer: Sendable {
    package let status: Int
    /// The type of its content, in lower case and without what follows a semicolon.
    package let contentType: String?
    /// How long the service asks to wait, at most an hour.
    package let retryAfter: Duration?
    /// Where a redirect leads.
    package let location: String?
    /// The time by the service's clock, where it says so.
    package let date: Date?
    package var body: [UInt8] = []

    init(_ head: HTTPResponseHead, now: Date = Date()) {
      func field(_ name: String) -> String? { head.headers.first(name: name) }
      status = Int(head.status.code)
      contentType = field("content-type").map {
        $0.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
      }
      location = field("location")
      let date = field("date").flatMap(HTTPDate.read)
      self.date = date
      let seconds = field("retry-after").flatMap { text in
        Int(text).map(Double.init)
          ?? HTTPDate.read(text).map { $0.timeIntervalSince(date ?? now) }
      }
      retryAfter = seconds.map { .seconds(min(max($0, 0), 3_600)) }
    }
  }
#endif
