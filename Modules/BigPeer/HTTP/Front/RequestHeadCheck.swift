#if Server
  import HTTPTypes
  import NIOCore
  import NIOHTTP1

  /// Refuses requests whose head the HTTP library accepts and RFC 9112 does not, and answers HTTP/1.0.
  ///
  /// It stands behind the decoder, as later handlers see neither the version nor a second `Host`.
  /// Source: RFC 9112, "HTTP/1.1", sections 3.2 (Host), 6.1 (Transfer-Encoding) and 9.3 (persistence).
  final class RequestHeadCheck: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// A request that is refused because of its head.
    struct Refusal: Error {
      let problem: Problem
    }

    /// Whether each of the requests that are owed a response is of HTTP/1.0, oldest first.
    private var areOld: [Bool] = []
    /// Whether further input is ignored: the place of the next request is unknown, or there is none.
    private var dropsInput = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch Self.unwrapInboundIn(data) {
      case .head(var head):
        guard !dropsInput else { return }
        if let problem = Self.problem(of: head) {
          dropsInput = true
          return context.fireErrorCaught(Refusal(problem: problem))
        }
        let isOld = head.version.isOld
        areOld.append(isOld)
        // The connection ends behind the answer, with or without keep-alive: the end marks that of the body.
        if isOld { head.headers.replaceOrAdd(name: "Connection", value: "close") }
        context.fireChannelRead(Self.wrapInboundOut(.head(head)))
      case .body:
        guard !dropsInput else { return }
        context.fireChannelRead(data)
      case .end:
        guard !dropsInput else { return }
        context.fireChannelRead(data)
        if areOld.last == true { dropsInput = true }
      }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      // What is ignored may be anything.
      if dropsInput, error is HTTPParserError { return }
      context.fireErrorCaught(error)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      let isOld = areOld.first ?? false
      switch Self.unwrapOutboundIn(data) {
      case .head(var head) where isOld:
        // HTTP/1.0 has no informational responses.
        guard head.status.code >= 200 else {
          promise?.succeed()
          return
        }
        // The encoder then uses no chunks.
        head.version = .http1_0
        head.headers.replaceOrAdd(name: "Connection", value: "close")
        context.write(Self.wrapOutboundOut(.head(head)), promise: promise)
      case .end:
        if !areOld.isEmpty { areOld.removeFirst() }
        context.write(data, promise: promise)
      case .head, .body: context.write(data, promise: promise)
      }
    }

    /// Why a request is refused; `nil` if it is not.
    private static func problem(of head: HTTPRequestHead) -> Problem? {
      let isOld = head.version.isOld
      let hosts = head.headers["Host"]
      guard hosts.count == 1 || isOld && hosts.isEmpty else {
        return Problem.request("a request must have exactly one Host")
      }
      guard hosts.allSatisfy({ $0.utf8.allSatisfy(isOfHost) }) else {
        return Problem.request("Host must be a name or an address, and perhaps a port")
      }
      let encodings = head.headers["Transfer-Encoding"]
      guard !encodings.isEmpty else { return nil }
      guard !isOld else { return Problem.request("HTTP/1.0 has no Transfer-Encoding") }
      guard encodings.count == 1, encodings[0].lowercased() == "chunked" else {
        return Problem(
          .notImplemented, "transferEncoding", "the only Transfer-Encoding that is understood is chunked")
      }
      return nil
    }

    /// Whether a character may stand in a host and port: RFC 3986, section 3.2.2.
    private static func isOfHost(_ byte: UInt8) -> Bool {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "-._~%!$&'()*+;=:[]".utf8.contains(byte)
      }
    }
  }

  extension HTTPVersion {
    fileprivate var isOld: Bool { (major, minor) < (1, 1) }
  }
#endif
