import NIOCore
import NIOHTTP1

/// Checks the first request of an accepted connection, behind the HTTP decoder.
///
/// A request for a WebSocket passes. Any other is answered, and the connection is closed. After the first
/// request that passes, the handler passes everything on: the bytes of the WebSocket follow.
final class WebSocketGate: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private enum Course {
    case waiting
    case passed
    case refused
  }

  private let hasRoom: (HTTPRequestHead) -> Bool
  private var course = Course.waiting

  /// - Parameter hasRoom: Returns whether a correct request may become a connection.
  init(hasRoom: @escaping (HTTPRequestHead) -> Bool) { self.hasRoom = hasRoom }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch course {
    case .passed: context.fireChannelRead(data)
    case .refused: break
    case .waiting:
      guard case .head(let head) = unwrapInboundIn(data) else { return }
      if let refusal = WebSocketRefusal.of(head) ?? (hasRoom(head) ? nil : .full) {
        course = .refused
        refuse(refusal, head.method, context)
      } else {
        course = .passed
        context.fireChannelRead(data)
      }
    }
  }

  /// Answers what is no HTTP, and fields that are too long, before the library does.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard case .waiting = course else {
      if case .passed = course { context.fireErrorCaught(error) }
      return
    }
    course = .refused
    refuse(.noRequest, .GET, context)
  }

  private func refuse(
    _ refusal: WebSocketRefusal, _ method: HTTPMethod, _ context: ChannelHandlerContext
  ) {
    let body = ByteBuffer(string: refusal.reason + "\n")
    var headers = HTTPHeaders()
    for field in refusal.fields { headers.add(name: field.name, value: field.value) }
    headers.add(name: "Connection", value: "close")
    headers.add(name: "Content-Type", value: "text/plain")
    headers.add(name: "Content-Length", value: "\(body.readableBytes)")
    let head = HTTPResponseHead(version: .http1_1, status: refusal.status, headers: headers)
    DrainingHandler.end(context.channel, at: .first, waitsForOther: true) { sent in
      context.write(wrapOutboundOut(.head(head)), promise: nil)
      if method != .HEAD { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: sent)
    }
  }
}
