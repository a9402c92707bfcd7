/// A link whose user can wait for bytes instead of being called; for tests and tools.
///
/// From the first call on, it is used in only one of the two ways. One task receives and one task sends; they
/// may be different tasks.
public protocol AwaitedLink: Link {
  /// Waits for bytes and returns all that have arrived, at most some hundred kilobytes.
  ///
  /// While nobody receives, the other end stops sending once the bounded buffers between them are full.
  ///
  /// - Returns: At least one byte; `nil` when the peer has ended its direction in order.
  /// - Throws: `LinkError` when the link broke or was closed; `cancelled` when the task is cancelled.
  func receive() async throws(LinkError) -> [UInt8]?

  /// Queues `pieces`, in order, and waits while more is queued than the link's bound.
  ///
  /// All pieces of a call go out with one flush if the link supports that, so a caller should pass everything
  /// that it has at once. The bytes are queued when the wait begins: a cancelled call has sent them
  /// nevertheless.
  ///
  /// - Throws: `LinkError` when the link broke or was closed; `cancelled` when the task is cancelled.
  func send(_ pieces: [[UInt8]]) async throws(LinkError)

  /// Ends this direction in order, after waiting until everything queued has gone out.
  ///
  /// The other direction stays open.
  ///
  /// - Throws: As `send`.
  func finish() async throws(LinkError)
}
