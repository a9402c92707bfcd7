import NIOCore
import NIOHTTP1
import Platform
import Testing

@testable import Links

/// What becomes of the errors of the operating system and of the network library.
@Suite struct LinkErrorTests {
  @Test(
    arguments: [
      (ECONNREFUSED, .refused),
      (EHOSTUNREACH, .unreachable), (ENETUNREACH, .unreachable), (ENETDOWN, .unreachable),
      (EADDRNOTAVAIL, .unreachable),
      (ETIMEDOUT, .timedOut),
      (ECONNRESET, .disconnected), (EPIPE, .disconnected), (ECONNABORTED, .disconnected),
      (ENOTCONN, .disconnected),
      (EADDRINUSE, .portInUse),
      (EACCES, .permissionDenied), (EPERM, .permissionDenied),
      (EMFILE, .system), (EIO, .system),
    ] as [(Int32, LinkError.Code)])
  func `a number of the operating system has one code, and is kept`(number: Int32, code: LinkError.Code) {
    let error = LinkError(tcp: IOError(errnoCode: number, reason: "connect"), "Cannot connect to host:1")
    #expect(error.code == code)
    #expect(error.underlying == number)
    #expect(error.message == "Cannot connect to host:1: \(String(cString: strerror(number)))")
  }

  @Test(
    arguments: [
      (.connectTimeout(.seconds(1)), .timedOut),
      (.ioOnClosedChannel, .disconnected), (.alreadyClosed, .disconnected), (.eof, .disconnected),
      (.inputClosed, .disconnected), (.outputClosed, .disconnected),
      (.operationUnsupported, .system), (.writeMessageTooLarge, .system),
    ] as [(ChannelError, LinkError.Code)])
  func `what a channel throws has one code, and names the address`(thrown: ChannelError, code: LinkError.Code)
  {
    let error = LinkError(tcp: thrown, "The connection to host:1 broke")
    #expect(error.code == code)
    #expect(error.underlying == nil)
    #expect(error.message.hasPrefix("The connection to host:1 broke: "))
  }

  @Test func `who was waited for in vain is told with the time`() {
    let error = LinkError(tcp: ChannelError.connectTimeout(.milliseconds(300)), "Cannot connect to host:1")
    #expect(error.message == "Cannot connect to host:1: no answer within 300 ms")
  }

  @Test(
    arguments: [
      (ChannelError.eof, .disconnected, "the connection is closed"),
      (
        ChannelError.inappropriateOperationForState, .disconnected,
        "the other end closed the connection before it answered"
      ),
      (HTTPParserError.invalidConstant, .refused, "a peer's TCP port is connected to as host:port"),
      (HTTPParserError.invalidEOFState, .disconnected, "before it answered"),
      (NIOHTTPClientUpgradeError.upgraderDeniedUpgrade, .refused, "answers as no WebSocket server does"),
      (NIOHTTPClientUpgradeError.responseProtocolNotFound, .refused, "check the path"),
    ] as [(any Error, LinkError.Code, String)])
  func `what the network library throws is told in words that say what to do`(
    thrown: any Error, code: LinkError.Code, words: String
  ) {
    let error = LinkError(tcp: thrown, "Cannot connect to host:1")
    #expect(error.code == code)
    #expect(error.message.hasPrefix("Cannot connect to host:1: "))
    #expect(error.message.contains(words))
    #expect(!error.message.contains("\(thrown)"))
  }

  @Test func `a process that accepts nothing is told as stopped or overloaded`() {
    let error = LinkError(tcp: IOError(errnoCode: EAGAIN, reason: "connect"), "Cannot connect to host:1")
    #expect(error.code == .timedOut && error.underlying == EAGAIN)
    #expect(error.message.hasSuffix("it is stopped or overloaded"))
  }

  private struct Strange: Error {}

  @Test func `a link's own error stays what it is, and a strange one is the system's`() {
    let own = LinkError(.closed, "done")
    #expect(LinkError(tcp: own, "what") == own)
    #expect(LinkError(tcp: CancellationError(), "what") == .cancelled)
    #expect(LinkError(tcp: Strange(), "what").code == .system)
  }
}
