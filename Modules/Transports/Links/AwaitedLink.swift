/// A link whose user can wait for bytes in place of being called; for tests and tools.
///
/// It is used in one of the two ways, from the first call on. One task receives and one task sends; the two may be different
/// tasks.
public protocol AwaitedLink: Link {
  /// Waits for bytes and returns all that have arrived, at most some hundred kilobytes.
  ///
  /// A caller that stays away stops the other end's sending, once the bounded buffers between them are full.
  ///
  /// - Returns: At least one byte; `nil` when the peer has ended its direction in order.
  /// - Throws: `LinkError` when the link broke or was closed; `cancelled` when the task is cancelled.
  func receive() async throws(LinkError) -> [UInt8]?

  /// Queues `pieces`, in order, and waits while more is queued than the link's bound.
  ///
  /// All pieces of a call go out with one flush where the link can, so a caller passes what it has at once. The bytes
  /// are queued when the wait begins: a cancelled call has sent them all the same.
  ///
  /// - Throws: `LinkError` when the link broke or was closed; `cancelled` when the task is cancelled.
  func send(_ pieces: [[UInt8]]) async throws(LinkError)

  /// Ends this direction in order: waits until all that is queued has gone out. The other direction stays open.
  ///
  /// - Throws: As `send`.
  func finish() async throws(LinkError)
}
