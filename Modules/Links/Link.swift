/// An ordered, reliable byte channel to one peer, with backpressure in both directions.
///
/// A link knows nothing of frames: it delivers bytes as they arrive, split anywhere. Bytes arrive in the
/// order in which they were sent, each once, or the link ends with an error.
///
/// It delivers what it receives to one user, which is attached once. The link calls its user on the link's
/// executor, one call at a time. The link itself may be called from any thread, also from within a call of
/// its user. `Documentation/Links.md` lists what a link promises, and `LinkConformance` of the module
/// LinkTesting checks it.
public protocol Link: AnyObject, Sendable {
  /// The kind of channel and the address of its other end, for logs and presence.
  var endpoint: LinkEndpoint { get }

  /// How many bytes the link has carried so far.
  var statistics: LinkStatistics { get }

  /// Whether both ends are on one machine, where compression gains nothing.
  var isLocal: Bool { get }

  /// The executor of the link's own work and of its user's calls.
  var executor: any LinkExecutor { get }

  /// Delivers everything that arrives to `user`, including what has arrived before; called once.
  ///
  /// The link keeps its user until both directions have ended, and then releases it. If the link has ended
  /// already, the user is called with both ends.
  func attach(_ user: any LinkUser)

  /// Queues pieces after all earlier ones, without waiting; may be called before a user is attached.
  ///
  /// The pieces are dropped on a direction that was ended, and on a link that was closed. The user is not
  /// told of a slow peer. A user mostly sends in answer to what it receives, so a link does not read while 32
  /// MiB wait to be sent.
  func write(_ pieces: [[UInt8]])

  /// Says that the user may have room again; the link then checks `hasRoom`.
  func resumeReading()

  /// Ends this direction in order, after everything queued has gone out; then the user is called.
  ///
  /// The other direction stays open. Ending it again has no effect.
  func finishWriting()

  /// Closes both directions at once and drops what is queued; closing again has no effect.
  ///
  /// The user is called for each direction that had not ended, with an error. The peer sees that its inbound
  /// direction has ended. Some lines cannot report whether that was in order. On some the peer notices only
  /// when it sends that it no longer can.
  func close(_ reason: LinkError)

  /// Says that the peer has identified itself and has a session.
  ///
  /// A listener then no longer counts the link among its half-open connections.
  func admitted()
}

extension Link {
  public var isLocal: Bool { false }

  public func admitted() {}
}

/// The kind of a link and the address of its other end, in words.
public struct LinkEndpoint: Hashable, Sendable, CustomStringConvertible {
  /// The kind of channel, for example `"tcp"`.
  public let kind: String
  /// Where the other end is, for example `"127.0.0.1:4040"`.
  public let address: String

  /// Makes the name of an end of a link.
  public init(kind: String, address: String) {
    self.kind = kind
    self.address = address
  }

  public var description: String { "\(kind)://\(address)" }
}

/// How many bytes a link has carried.
public struct LinkStatistics: Hashable, Sendable {
  /// Bytes delivered to the user, including the link's own overhead if it counts that.
  public var receivedBytes: UInt64 = 0
  /// Bytes taken from the user, including the link's own overhead if it counts that.
  public var sentBytes: UInt64 = 0

  /// Starts at zero.
  public init() {}
}
