import NIOCore

/// Pauses accepting connections for a moment after a failure, mostly for want of file descriptors.
///
/// A waiting connection keeps the listener readable. A listener that failed to accept it would try again at
/// once, for ever. The library's own handler for that delays reads that the channel requests. But after such
/// a failure the channel does not request again, because it is still registered.
final class AcceptPause: ChannelInboundHandler {
  typealias InboundIn = any Channel

  static let duration = TimeAmount.milliseconds(250)

  private let failed: @Sendable (any Error) -> Void
  private var resumption: Scheduled<Void>?

  /// - Parameter failed: Called with each failure.
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
    // This fails when the channel is closed, and then there is nothing to do.
    try? channel.syncOptions?.setOption(.autoRead, value: accepts)
  }
}
