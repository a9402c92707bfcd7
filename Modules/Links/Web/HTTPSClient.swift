#if TLS
  package import Foundation
  import NIOConcurrencyHelpers
  package import NIOCore
  import NIOHTTP1
  import NIOPosix
  import NIOSSL

  /// A strict and bounded client for web services, with one request per connection.
  ///
  /// It uses TLS unless the address says otherwise, and verifies the service's certificate like any web
  /// client. It follows no redirects, keeps nothing between requests, and does not support proxies and
  /// cookies.
  package struct HTTPSClient: Sendable {
    /// The limits on a request's time and on the size of its answer.
    package struct Limits: Hashable, Sendable {
      /// How long the connection may take, and then the TLS handshake.
      package var connecting: Duration = .seconds(10)
      /// How long the request may take, from the lookup of the name to the last byte of the answer.
      package var answering: Duration = .seconds(30)
      /// The maximum size of the answer's body, in bytes.
      package var bodyBytes = 64 << 10
      /// The maximum size of the answer's head, in bytes.
      package var headBytes = 16 << 10

      package init() {}
    }

    package var limits = Limits()
    /// Whether the answer is read to its end.
    ///
    /// If not, it is returned after its head, with an empty body.
    package var readsBody = true
    /// Gets the body of an answer with a status of success piece by piece; its own body is empty then.
    ///
    /// It is called on the connection's thread, and the next piece is not read before it returns. If it
    /// throws, the request ends.
    package var receive: (@Sendable ([UInt8]) throws -> Void)?
    /// Decides which addresses of a name may be connected to; `nil` allows all.
    package var admits: (@Sendable (SocketAddress) -> Bool)?
    private let trust: WebTrust

    /// Makes a client; it does not connect yet.
    ///
    /// - Parameter authorityFile: A file with the authorities (PEM) that verify certificates, which is read
    ///   once; `nil` uses the system's.
    package init(authorityFile: String? = nil) { trust = WebTrust(authorityFile) }

    /// Sends JSON to a service, and waits for its answer.
    ///
    /// - Parameters:
    ///   - body: The JSON text.
    ///   - headers: Further header fields, which replace the default ones of the same names.
    ///   - address: The service.
    /// - Returns: The answer, whatever its status.
    /// - Throws: As `send`.
    package func post(
      _ body: [UInt8], headers: [(name: String, value: String)] = [], to address: HTTPSAddress
    ) async throws(WebError) -> HTTPSAnswer {
      try await send("POST", body, headers: headers, to: address)
    }

    /// Sends a request to a service, and waits for its answer.
    ///
    /// - Parameters:
    ///   - method: The request's method.
    ///   - body: JSON; empty for none.
    ///   - headers: Further header fields, which replace the default ones of the same names.
    ///   - address: The service.
    /// - Returns: The answer, whatever its status.
    /// - Throws: `unreachable`, `timedOut`, `untrusted`, `notAdmitted`, `answer` when it is not a valid HTTP
    ///   answer or too long, `cancelled`; the message names the address.
    package func send(
      _ method: String, _ body: [UInt8] = [], headers: [(name: String, value: String)] = [],
      to address: HTTPSAddress
    ) async throws(WebError) -> HTTPSAnswer {
      let attempt = ConnectionAttempt()
      let deadline = NIODeadline.now() + TimeAmount(limits.answering)
      let head = head(method, body, headers, address)
      do {
        try TCP.checkDescriptors("\(address)")
        let context = address.isPlain ? nil : try trust.context(for: address)
        return try await withTaskCancellationHandler {
          let answer = try await ClientBootstrap(group: TCP.group)
            .resolver(NameResolver())
            .connectTimeout(TimeAmount(min(limits.connecting, limits.answering)))
            .connect(host: address.host, port: address.port) { channel in
              channel.eventLoop.makeCompletedFuture {
                try attempt.begin(on: channel)
                return try prepare(channel, context, address) { tls in
                  HTTPSExchange(
                    head, body, address, limits, until: deadline, readsBody: readsBody, receive, tls,
                    channel.eventLoop.makePromise(of: HTTPSAnswer.self))
                }
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

    private func head(
      _ method: String, _ body: [UInt8], _ headers: [(name: String, value: String)], _ address: HTTPSAddress
    ) -> HTTPRequestHead {
      var fields: HTTPHeaders = [
        "Host": address.authority, "Connection": "close", "Accept": "application/json",
        "User-Agent": "dunlin",
      ]
      if !body.isEmpty { fields.add(name: "Content-Type", value: "application/json") }
      if !body.isEmpty || method == "POST" { fields.add(name: "Content-Length", value: "\(body.count)") }
      for (name, value) in headers { fields.replaceOrAdd(name: name, value: value) }
      return HTTPRequestHead(
        version: .http1_1, method: HTTPMethod(rawValue: method), uri: address.target, headers: fields)
    }

    /// Adds the handlers to a channel that is being made; must run on its event loop.
    private func prepare(
      _ channel: any Channel, _ context: NIOSSLContext?, _ address: HTTPSAddress,
      _ makeExchange: (NIOSSLClientHandler?) -> HTTPSExchange
    ) throws -> EventLoopFuture<HTTPSAnswer> {
      let isName = (try? SocketAddress(ipAddress: address.host, port: 0)) == nil
      let tls = try context.map {
        try NIOSSLClientHandler(context: $0, serverHostname: isName ? address.host : nil)
      }
      let exchange = makeExchange(tls)
      var heads = NIOHTTPDecoderLimitConfiguration()
      heads.maxHeaderFieldSize = limits.headBytes / 2
      heads.maxHeaderListSize = limits.headBytes
      heads.maxHeaderFieldCount = 64
      let pipeline = channel.pipeline.syncOperations
      do {
        if let admits { try pipeline.addHandler(ConnectionFilter(admits)) }
        if let tls { try pipeline.addHandler(tls) }
        try pipeline.addHTTPClientHandlers(decoderLimitConfiguration: heads)
        try pipeline.addHandler(exchange)
      } catch {
        exchange.promise.fail(error)
        throw error
      }
      return exchange.promise.futureResult
    }

    /// Translates a failure, other than those that the exchange itself has found.
    private static func failure(_ error: any Error, _ address: HTTPSAddress) -> WebError {
      if let error = error as? WebError { return error }
      // A name may have several addresses. The error of one that was tried says more than that of one that is
      // not allowed.
      let attempts = (error as? NIOConnectionError)?.connectionErrors.map(\.error) ?? []
      let cause = attempts.first { !($0 is NotAdmitted) } ?? attempts.first ?? error
      if cause is NotAdmitted {
        return WebError(.notAdmitted, "\(address.host) leads to an address that is not admitted")
      }
      let error = LinkError(tcp: cause, "Cannot reach \(address)")
      let code: WebError.Code =
        switch error.code {
        case .timedOut: .timedOut
        case .cancelled: .cancelled
        case .untrusted: .untrusted
        default: .unreachable
        }
      return WebError(code, error.message)
    }
  }

  /// The error of a channel whose address is not allowed.
  private struct NotAdmitted: Error {}

  /// Lets a channel connect only to allowed addresses.
  ///
  /// It checks the very address that the system will connect to. So a name cannot lead to another one after
  /// the check.
  private final class ConnectionFilter: ChannelOutboundHandler {
    typealias OutboundIn = NIOAny

    private let admits: @Sendable (SocketAddress) -> Bool

    init(_ admits: @escaping @Sendable (SocketAddress) -> Bool) { self.admits = admits }

    func connect(context: ChannelHandlerContext, to address: SocketAddress, promise: EventLoopPromise<Void>?)
    {
      guard admits(address) else {
        promise?.fail(NotAdmitted())
        return context.close(promise: nil)
      }
      context.connect(to: address, promise: promise)
    }
  }

  /// The TLS configuration, made once: at least TLS 1.2, and the trusted authorities.
  private final class WebTrust: Sendable {
    private let authorityFile: String?
    private let made = NIOLockedValueBox<NIOSSLContext?>(nil)

    init(_ authorityFile: String?) { self.authorityFile = authorityFile }

    func context(for address: HTTPSAddress) throws(WebError) -> NIOSSLContext {
      do {
        return try made.withLockedValue { made in
          if let made { return made }
          let context = try make()
          made = context
          return context
        }
      } catch {
        let roots = authorityFile.map { "in \($0)" } ?? "of the system"
        throw WebError(
          .untrusted, "\(address) cannot be verified: the authorities \(roots) cannot be read (\(error))",
          publicMessage: "\(address) cannot be verified: the authorities cannot be read")
      }
    }

    private func make() throws -> NIOSSLContext {
      var configuration = TLSConfiguration.makeClientConfiguration()
      configuration.minimumTLSVersion = .tlsv12
      configuration.applicationProtocols = ["http/1.1"]
      if let authorityFile { configuration.trustRoots = .file(authorityFile) }
      return try NIOSSLContext(configuration: configuration)
    }
  }

  /// The answer of a web service.
  package struct HTTPSAnswer: Sendable {
    package let status: Int
    /// The content type, in lower case and without parameters.
    package let contentType: String?
    /// How long the service asks to wait, at most an hour.
    package let retryAfter: Duration?
    /// The target of a redirect.
    package let location: String?
    /// The time by the service's clock, if the answer has it.
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
