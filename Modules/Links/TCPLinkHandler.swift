import NIOConcurrencyHelpers
import NIOCore

/// The end of a TCP channel's pipeline: moves bytes between the socket and the link's two pipes.
///
/// It runs on the channel's event loop. The socket is read only while the inbound pipe has room. The outbound
/// pipe is emptied only while the socket takes more. So backpressure works in both directions.
final class TCPLinkHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = Never
  typealias OutboundIn = Never
  typealias OutboundOut = ByteBuffer

  /// Bytes handed to the socket in one write.
  private static let writeBytes = 256 << 10

  private let inbound: BytePipe
  private let outbound: BytePipe
  private let counters: NIOLockedValueBox<LinkStatistics>
  private let name: String
  private var context: ChannelHandlerContext?
  /// The user that receives what arrives, instead of the inbound pipe.
  private var user: (any LinkUser)?
  private var toldEnds: Set<LinkDirection> = []
  /// Whether the channel wanted to read while there was no room.
  private var owesRead = false
  /// Why the channel is closed.
  private var gone: LinkError?
  /// Set while the output is to be ended after what is queued.
  private var ending: EventLoopPromise<Void>?
  private var endsOutput = false

  /// Makes the handler of one channel; `name` is the other end's address in errors.
  init(
    inbound: BytePipe, outbound: BytePipe, counters: NIOLockedValueBox<LinkStatistics>, name: String
  ) {
    self.name = name
    self.counters = counters
    self.inbound = inbound
    self.outbound = outbound
  }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    // A channel that is closed before it was active reports no other event.
    connectionHasGone()
  }

  // MARK: - For a user

  /// Delivers what has arrived to `user`, and everything that arrives from now on.
  func attach(_ user: any LinkUser) {
    self.user = user
    handWaiting()
    if let gone { end(gone) } else { readIfRoom() }
  }

  /// Delivers bytes that arrived before the user was attached, while it has room, and then the end.
  private func handWaiting() {
    while hasRoom, let user, case .pieces(let pieces) = inbound.take(atMost: 1) {
      for piece in pieces { hand(piece, to: user) }
    }
    if inbound.isEmpty, case .ended(let error) = inbound.take(atMost: 1) { tell(.inbound, error) }
  }

  private func hand(_ bytes: [UInt8], to user: any LinkUser) {
    counters.withLockedValue { $0.receivedBytes += UInt64(bytes.count) }
    user.received(bytes)
  }

  /// Writes as much as the socket takes.
  func drain() { if let context { drain(context) } }

  /// Continues to read if a read was deferred.
  func readIfRoom() {
    if user != nil { handWaiting() }
    guard owesRead, hasRoom, let context else { return }
    owesRead = false
    context.read()
  }

  /// Whether there is room to receive; `false` while much waits to be sent, as receiving may cause more.
  private var hasRoom: Bool {
    guard let user else { return !inbound.isFull }
    return user.hasRoom && outbound.queuedBytes < LinkLimits.unsentBytes
  }

  private func tell(_ direction: LinkDirection, _ error: LinkError?) {
    guard let user, toldEnds.insert(direction).inserted else { return }
    user.ended(direction, error)
    if toldEnds.count == 2 { self.user = nil }
  }

  // MARK: - For the channel

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let bytes = Array(unwrapInboundIn(data).readableBytesView)
    if let user, inbound.isEmpty { return hand(bytes, to: user) }
    // This side has closed an ended pipe: bytes that still arrive are dropped.
    _ = try? inbound.append([bytes])
  }

  /// Reads only if there is room for the bytes.
  ///
  /// The link asks again after it has made room.
  func read(context: ChannelHandlerContext) {
    owesRead = !hasRoom
    if !owesRead { context.read() }
  }

  /// The link flushes after each send.
  func flush(context: ChannelHandlerContext) { drain(context) }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    drain(context)
    context.fireChannelWritabilityChanged()
  }

  private func drain(_ context: ChannelHandlerContext) {
    var wrote = false
    while context.channel.isWritable, case .pieces(let pieces) = outbound.take(atMost: Self.writeBytes) {
      var buffer = context.channel.allocator.buffer(capacity: pieces.reduce(0) { $0 + $1.count })
      for piece in pieces { buffer.writeBytes(piece) }
      context.write(wrapOutboundOut(buffer), promise: nil)
      wrote = true
    }
    if wrote {
      context.flush()
      readIfRoom()
    }
    endOutput(context)
  }

  /// Ending the output waits until everything queued has gone into the socket; closing drops it.
  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    guard mode == .output else { return context.close(mode: mode, promise: promise) }
    let wanted = promise ?? context.eventLoop.makePromise()
    guard ending == nil else { return wanted.fail(ChannelError.outputClosed) }
    ending = wanted
    drain(context)
  }

  private func endOutput(_ context: ChannelHandlerContext) {
    guard let ending, !endsOutput, outbound.isEmpty else { return }
    endsOutput = true
    // A socket whose other direction has ended closes as a whole and drops waiting writes, so those must go
    // out first.
    let written = context.eventLoop.makePromise(of: Void.self)
    written.futureResult.assumeIsolated().whenComplete { result in
      switch result {
      case .success: context.close(mode: .output, promise: ending)
      case .failure(let error): ending.fail(error)
      }
    }
    ending.futureResult.assumeIsolated().whenSuccess { self.tell(.outbound, nil) }
    context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed = event {
      inbound.finish()
      if user != nil { handWaiting() }
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    let reason = LinkError(tcp: error, "The connection to \(name) broke")
    end(reason)
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    connectionHasGone()
    context.fireChannelInactive()
  }

  private func connectionHasGone() {
    guard gone == nil else { return }
    let reason = LinkError(.disconnected, "The connection to \(name) was closed")
    // If this direction has ended before, the end of the other closes the socket without an event of its own.
    if endsOutput {
      inbound.finish()
      if user != nil { handWaiting() }
      // A user without room takes what came before the end later, and is then called with the end.
      if user != nil, !inbound.isEmpty {
        outbound.fail(reason)
        return tell(.outbound, reason)
      }
    }
    end(reason)
    if !endsOutput { ending?.fail(ChannelError.ioOnClosedChannel) }
  }

  private func end(_ reason: LinkError) {
    inbound.finish(reason)
    outbound.fail(reason)
    gone = reason
    tell(.inbound, reason)
    tell(.outbound, reason)
    user = nil
  }
}

extension Channel {
  /// The other end's address, in readable form.
  var peerName: String { remoteAddress.map(\.name) ?? "an unknown address" }
}

extension SocketAddress {
  /// Host and port in the usual notation.
  var name: String {
    guard let host = ipAddress, let port else { return "\(self)" }
    return hostPort(host, port)
  }
}

extension SocketAddress {
  /// Whether bytes that are sent to this address stay on this machine.
  var isLoopback: Bool {
    switch self {
    case .v4: ipAddress?.hasPrefix("127.") ?? false
    case .v6: ipAddress == "::1" || ipAddress?.hasPrefix("::ffff:127.") ?? false
    case .unixDomainSocket: true
    }
  }
}

/// Host and port in the usual notation, with an IPv6 address in brackets.
func hostPort(_ host: String, _ port: Int) -> String {
  host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
}
