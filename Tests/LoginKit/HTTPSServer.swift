#if TLS
  import Foundation
  import NIOCore
  import NIOPosix
  package import NIOSSL
  import Synchronization
  import TestKit

  /// A small web server on this machine, which answers as a test says: rightly, wrongly, or not at all.
  package final class HTTPSServer: Sendable {
    /// What somebody has asked.
    package struct Request: Sendable {
      package let path: String
      /// The head as it came.
      package let head: String
      package let body: [UInt8]
    }

    /// What is answered.
    package enum Reply: Sendable {
      /// An answer with a status, further lines of its head, and a body.
      case answer(Int, [String] = [], String)
      /// Whatever bytes; then the connection ends.
      case bytes(String)
      /// Nothing, and the connection stays.
      case silence
      /// Nothing, and the connection ends.
      case end
      /// What the closure is called back with, at any time.
      case later(@Sendable (@escaping @Sendable (Reply) -> Void) -> Void)
    }

    /// How connections are secured.
    package enum Security: Sendable {
      /// TLS with a certificate and its private key (PEM).
      case tls(certificate: String, key: String, latest: TLSVersion? = nil)
      /// None.
      case plain
    }

    private let channel: any Channel
    private let directory: TemporaryDirectory
    private let shared: Shared

    /// The port on 127.0.0.1 and, by the name localhost, wherever that leads.
    package let port: Int
    /// A file with the authority that clients trust.
    package let authorityFile: String

    /// Begins to listen.
    ///
    /// - Parameters:
    ///   - security: How connections are secured; `nil` takes a certificate of `authority` for localhost.
    ///   - authority: What the file for clients has.
    ///   - answer: Answers each request, on any thread.
    /// - Throws: What the network or the certificate's library throws.
    package init(
      _ security: Security? = nil, authority: WebAuthority? = nil,
      answer: @escaping @Sendable (Request) -> Reply
    ) async throws {
      let authority = try authority ?? WebAuthority()
      directory = try TemporaryDirectory()
      authorityFile = directory.file("authority.pem")
      try authority.certificate.write(toFile: authorityFile, atomically: true, encoding: .utf8)
      let context: NIOSSLContext?
      switch try security
        ?? {
          let (certificate, key) = try authority.issue()
          return .tls(certificate: certificate, key: key)
        }()
      {
      case .plain: context = nil
      case .tls(let certificate, let key, let latest):
        var configuration = TLSConfiguration.makeServerConfiguration(
          certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8)).map {
            .certificate($0)
          },
          privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem)))
        configuration.minimumTLSVersion = .tlsv1
        configuration.maximumTLSVersion = latest
        context = try NIOSSLContext(configuration: configuration)
      }
      let shared = Shared(answer)
      self.shared = shared
      channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            if let context {
              try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
            }
            try channel.pipeline.syncOperations.addHandler(RequestHandler(shared))
          }
        }
        .bind(host: "127.0.0.1", port: 0).get()
      port = channel.localAddress?.port ?? 0
    }

    deinit { channel.close(promise: nil) }

    /// The requests so far.
    package var requests: [Request] { shared.state.withLock { $0.requests } }

    /// Answers otherwise from now on.
    package func answer(_ answer: @escaping @Sendable (Request) -> Reply) {
      shared.state.withLock { $0.answer = answer }
    }

    /// Stops listening.
    package func stop() async throws { try await channel.close() }
  }

  /// What connections share.
  private final class Shared: Sendable {
    struct State {
      var answer: @Sendable (HTTPSServer.Request) -> HTTPSServer.Reply
      var requests: [HTTPSServer.Request] = []
    }

    let state: Mutex<State>

    init(_ answer: @escaping @Sendable (HTTPSServer.Request) -> HTTPSServer.Reply) {
      state = Mutex(State(answer: answer))
    }

    func reply(to request: HTTPSServer.Request) -> HTTPSServer.Reply {
      let answer = state.withLock { state in
        state.requests.append(request)
        return state.answer
      }
      return answer(request)
    }
  }

  /// Reads requests as they come, and writes answers as they are.
  private final class RequestHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let shared: Shared
    private var received: [UInt8] = []

    init(_ shared: Shared) { self.shared = shared }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      received += unwrapInboundIn(data).readableBytesView
      guard let request = request() else { return }
      received = []
      answer(shared.reply(to: request), context)
    }

    private func answer(_ reply: HTTPSServer.Reply, _ context: ChannelHandlerContext) {
      switch reply {
      case .later(let begin):
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let loop = context.eventLoop
        begin { reply in loop.execute { bound.value.0.answer(reply, bound.value.1) } }
      case .answer(let status, let lines, let body):
        let head = ["HTTP/1.1 \(status) Answer", "Content-Length: \(body.utf8.count)"] + lines
        write(head.joined(separator: "\r\n") + "\r\n\r\n" + body, context)
      case .bytes(let text): write(text, context)
      case .silence: break
      case .end: context.close(promise: nil)
      }
    }

    private func write(_ text: String, _ context: ChannelHandlerContext) {
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
      context.close(promise: nil)
    }

    /// What has come, once it is whole.
    private func request() -> HTTPSServer.Request? {
      guard let end = received.indices.first(where: { received[$0...].starts(with: Array("\r\n\r\n".utf8)) })
      else { return nil }
      let head = String(decoding: received[..<end], as: UTF8.self)
      let body = received[(end + 4)...]
      let lines = head.split(separator: "\r\n")
      let length = lines.first { $0.lowercased().hasPrefix("content-length:") }
        .flatMap { Int($0.split(separator: " ").last ?? "") }
      guard let path = lines.first?.split(separator: " ").dropFirst().first, body.count >= length ?? 0 else {
        return nil
      }
      return HTTPSServer.Request(path: String(path), head: head, body: Array(body))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
  }
#endif
