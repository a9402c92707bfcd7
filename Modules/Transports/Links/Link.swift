/// An ordered, reliable byte channel to one peer, with back pressure in both directions.
///
/// A link knows nothing of frames: what it hands out is what arrived, cut anywhere. Bytes arrive in the order in which
/// they were sent, each once, or the link ends with an error.
///
/// It brings what it receives to one user, which is attached once. All calls of the user are made on the link's executor, one
/// at a time; the link itself may be called from any thread, also out of a call of its user. `Documentation/Links.md` lists what a
/// link promises, and `LinkConformance` of the module LinkTesting checks it.
public protocol Link: AnyObject, Sendable {
  /// What kind of channel this is and where its other end is, for logs and presence.
  var endpoint: LinkEndpoint { get }

  /// What has gone through so far.
  var statistics: LinkStatistics { get }

  /// Whether both ends are on one machine, where nothing is won by compressing.
  var isLocal: Bool { get }

  /// Where the link's own work is done, and its user's.
  var executor: any LinkExecutor { get }

  /// Hands everything that arrives to `user` from now on, what has arrived before first; called once.
  ///
  /// The link keeps its user until both directions have ended, and then lets go of it. On a link that has ended the user hears that.
  func attach(_ user: any LinkUser)

  /// Queues pieces behind all earlier ones, together and without waiting; may come before a user is attached.
  ///
  /// On a direction that was ended, and on a link that was closed, they are dropped. The user is told nothing of a slow peer. What it
  /// sends is called for by what it receives, so a link does not read while 32 MiB wait to be sent.
  func write(_ pieces: [[UInt8]])

  /// Says that the user may have room again; the link asks it.
  func resumeReading()

  /// Ends this direction in order, behind what is queued; the user hears when that has gone out. The other one stays open.
  ///
  /// Ending it again has no effect.
  func finishWriting()

  /// Closes both directions at once and drops what is queued; closing again has no effect.
  ///
  /// The user hears of each direction that had not ended that it has, with an error. The peer hears that its inbound direction has ended;
  /// some lines cannot tell it whether in order, nor that it can send no more before it tries.
  func close(_ reason: LinkError)

  /// Says that the peer at the other end has said who it is and has a session: a link that a listener counted among those
  /// that wait for that counts there no more.
  func admitted()
}

extension Link {
  public var isLocal: Bool { false }

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
  /// Bytes handed over to the user, and those of the link's own where it counts them.
  public var receivedBytes: UInt64 = 0
  /// Bytes taken from the user, and those of the link's own where it counts them.
  public var sentBytes: UInt64 = 0

  /// Nothing yet.
  public init() {}
}
