/// An ordered, reliable byte channel to one peer, with back pressure in both directions.
///
/// A link knows nothing of frames: what it hands out is what arrived, cut anywhere. Bytes arrive in the order in which
/// they were sent, each once, or the link ends with an error. One task receives and one task sends; the two may be
/// different tasks.
public protocol Link: AnyObject, Sendable {
  /// What kind of channel this is and where its other end is, for logs and presence.
  var endpoint: LinkEndpoint { get }

  /// What has gone through so far.
  var statistics: LinkStatistics { get }

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
  func finish() async throws(LinkError)

  /// Closes both directions at once and drops what is queued; calls that wait end with `reason`.
  ///
  /// Closing again has no effect.
  func close(_ reason: LinkError)

  /// Says that the peer at the other end has said who it is and has a session: a link that a listener counted among those
  /// that wait for that counts there no more.
  func admitted()
}

extension Link {
  public func admitted() {}
}

/// The two ends of a link, in words.
public struct LinkEndpoint: Hashable, Sendable, CustomStringConvertible {
  /// The kind of channel, for example `"tcp"`.
  public let kind: String
  /// Where the other end is, for example `"127.0.0.1:4040"`.
  public let address: String

  /// Names an end of a link.
  public init(kind: String, address: String) {
    self.kind = kind
    self.address = address
  }

  public var description: String { "\(kind)://\(address)" }
}

/// How much a link has carried.
public struct LinkStatistics: Hashable, Sendable {
  /// Bytes taken from the peer by `receive`.
  public var receivedBytes: UInt64 = 0
  /// Bytes accepted by `send`.
  public var sentBytes: UInt64 = 0

  /// Nothing yet.
  public init() {}
}
