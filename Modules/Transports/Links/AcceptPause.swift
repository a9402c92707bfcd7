import NIOCore

/// Stops accepting connections for a moment when that fails, above all because no file descriptors are left.
///
/// A connection that waits makes the listener readable as long as it waits, so a listener that only failed to accept it
/// would try again at once, for ever. (The library's own handler for that delays reads that the channel asks for, and
/// the channel does not ask again after such a failure: it is still registered.)
final class AcceptPause: ChannelInboundHandler {
  typealias InboundIn = any Channel

  static let duration = TimeAmount.milliseconds(250)

  private let failed: @Sendable (any Error) -> Void
  private var resumption: Scheduled<Void>?

  /// - Parameter failed: Hears of each failure.
  init(_ failed: @escaping @Sendable (any Error) -> Void) { self.failed = failed }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard error is IOError else { return context.fireErrorCaught(error) }
    guard resumption == nil else { return }
    set(false, context.channel)
    failed(error)
    resumption = context.eventLoop.assumeIsolated().scheduleTask(in: Self.duration) {
      self.resumption = nil
      self.set(true, context.channel)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    resumption?.cancel()
    resumption = nil
    context.fireChannelInactive()
  }

  private func set(_ accepts: Bool, _ channel: any Channel) {
    // It fails where the channel is closed, and then there is nothing to do.
    try? channel.syncOptions?.setOption(.autoRead, value: accepts)
  }
}
