import NIOCore
import NIOHTTP1

#if TLS
  import NIOSSL
#endif

/// Reads a web server's answer to the request for a WebSocket, in order to say why there is none.
///
/// It stands between the HTTP decoder and what upgrades the connection. After the first answer it passes
/// everything on.
final class WebSocketHandshake: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias InboundOut = HTTPClientResponsePart

  /// The longest text of an answer that is repeated in an error.
  private static let textLength = 200

  /// Why the server has refused the request.
  final class Refusal {
    private(set) var error: LinkError

    init(_ error: LinkError) { self.error = error }

    fileprivate func set(_ error: LinkError) { self.error = error }
  }

  #if TLS
    /// The TLS handler; `nil` without TLS.
    var tls: NIOSSLClientHandler?
  #endif
  /// Why the server has refused the request; used on the event loop only.
  let refusal: NIOLoopBound<Refusal>
  private let webSocket: WebSocketAddress
  private let what: String
  private var isOver = false

  /// Makes a handler; must run on the event loop of its channel.
  ///
  /// - Parameters:
  ///   - webSocket: The address of the server.
  ///   - eventLoop: The event loop of the channel.
  init(with webSocket: WebSocketAddress, on eventLoop: any EventLoop) {
    self.webSocket = webSocket
    what = "Cannot connect to \(webSocket)"
    refusal = NIOLoopBound(
      Refusal(LinkError(.refused, "\(what): the server does not speak WebSocket there")), eventLoop: eventLoop
    )
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    // The bytes of the WebSocket follow the answer.
    if !isOver, case .head(let head) = unwrapInboundIn(data) {
      isOver = true
      refusal.value.set(
        LinkError(.refused, "\(what): \(Self.reason(head))", retryAfter: Self.retryAfter(head)))
    }
    context.fireChannelRead(data)
  }

  /// Ends the attempt when the server ends its sending side, which alone does not close the channel.
  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if !isOver, case ChannelEvent.inputClosed = event {
      let failure = ConnectionFailure.closedEarly
      context.fireErrorCaught(LinkError(failure.code, "\(what): \(failure.text)"))
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    #if TLS
      if !isOver, ConnectionFailure.isOfTLS(error), ConnectionFailure.of(error) == nil {
        let reason = WebTrustFailure(error, over: tls).reason(for: webSocket.host)
        return context.fireErrorCaught(LinkError(.untrusted, "\(what): \(reason)"))
      }
    #endif
    context.fireErrorCaught(error)
  }

  /// Why there is no WebSocket, by the answer's status and headers.
  ///
  /// - Parameter head: An answer other than one that begins a WebSocket.
  /// - Returns: What the server answers, and what to do.
  static func reason(_ head: HTTPResponseHead) -> String {
    func field(_ name: String) -> String? {
      head.headers.first(name: name).map { PlainText.of(String($0.prefix(textLength))) }
    }
    let phrase = PlainText.of(String(head.status.reasonPhrase.prefix(textLength)))
    let wait = field("retry-after").map { text in
      let isCount = !text.isEmpty && text.allSatisfy { ("0"..."9").contains($0) }
      return isCount ? "; it asks to wait \(text) s" : "; it asks to wait until \(text)"
    }
    return "the server answers \(head.status.code) \(phrase)\(advice(head.status, field))\(wait ?? "")"
  }

  /// How long the server asks to wait, where it says so in seconds.
  private static func retryAfter(_ head: HTTPResponseHead) -> Duration? {
    head.headers.first(name: "retry-after").flatMap { UInt32($0) }.map { .seconds(Int64($0)) }
  }

  private static func advice(_ status: HTTPResponseStatus, _ field: (String) -> String?) -> String {
    switch status.code {
    case 300..<400:
      field("location").map { " and points to \($0), which is not followed: connect to the right address" }
        ?? ", a redirect, which is not followed: connect to the right address"
    case 401, 403, 407: ": it, or a proxy on the way, does not let this peer in"
    case 404: ": nothing is at this path"
    case 429: ": it has too many requests"
    case 502, 503, 504: ": the peer behind it does not run, or is overloaded"
    default: ": it does not speak WebSocket there"
    }
  }
}
