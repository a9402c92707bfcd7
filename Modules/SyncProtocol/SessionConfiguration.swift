import CRDTCore

/// What a session is set up with.
public struct SessionConfiguration: Sendable {
  /// What this peer is.
  public var kind: PeerKind
  /// Names this peer in the other's logs.
  public var peerName: String
  /// Peers of different applications refuse each other.
  public var appID: String
  /// zlib's level, 0 (none) to 9, other values are taken as 1; `nil` goes by how fast the link is.
  public var compressionLevel: Int?
  /// How long the peer may take to say hello.
  public var helloDeadline: Duration
  /// After a third of this, or of what the peer has in its place, without a frame a ping is sent; after all of it the
  /// link is taken for dead.
  public var silence: Duration
  /// How long the peer may leave everything unacknowledged, or unanswered, before it is given up; one that was slow
  /// before gets more, and what it is asked adds a second for each thousand bytes, up to ten times this.
  public var stall: Duration
  /// Bytes of local changes that wait for the link before reconciliation takes over.
  public var liveQueueBytes: Int
  /// Bytes in flight when nothing is known of the link yet.
  public var initialWindowBytes: Int
  /// Bytes in memory that a session may hold for its peer: three eighths of it for what the peer has sent and is not applied,
  /// beside one group, after which the peer waits; all of it for what it subscribes to and asks for, after which it is ended.
  public var peerMemoryBytes = 16 << 20
  /// The same for all sessions of a store together: three eighths for what peers have sent, half for what they ask for.
  public var allPeersMemoryBytes = 64 << 20
  /// Random bits; the session uses them where two sessions must not coincide.
  public var random: @Sendable () -> UInt64

  /// Whether this peer runs statements for others, which sync scopes do not restrict.
  public var answersRemoteQueries = false
  /// How much a statement that it runs for another may take.
  public var remoteQueryLimits = RemoteQueryLimits()

  /// What a session may hold of what its peer has sent and is not applied, and what all may.
  ///
  /// No more, since a transaction holds its records once more for those who listen to it and once in pages, and one group is
  /// taken whatever all others hold.
  package var arrivedBytes: Int { peerMemoryBytes / 8 * 3 }
  package var allArrivedBytes: Int { allPeersMemoryBytes / 8 * 3 }

  /// Whether both ends of the link are on one machine: then a first sync is sent without compression, in large pieces.
  ///
  /// Such a link is as fast as the memory, so compression would take longer than it saves. Over any other link leave it
  /// `false`: the session measures how fast the link is, and compresses accordingly. The ends need not agree.
  public var isLocal = false
  /// Whether the peer made the connection: then it says hello first, and is answered once it is admitted.
  package var isIncoming = false
  /// Whether the driver decides, once the peer has said hello, if the session goes on.
  package var asksForAdmission = false

  /// What a peer that says nothing of its silence has.
  public static let usualSilence = Duration.seconds(30)

  /// Whether the driver compresses pieces of large groups for the session, on other threads.
  ///
  /// Then the session returns ``Action/pack(_:)``, for at most eight pieces at a time. Otherwise it compresses them itself,
  /// within its calls, a piece of 64 KiB in about a millisecond.
  public var packsOutside = false
  /// Numbers that shape behaviour; for tests and simulations.
  package var tuning = SyncTuning()

  public init(
    kind: PeerKind, peerName: String = "", appID: String = "", compressionLevel: Int? = nil,
    helloDeadline: Duration = .seconds(10), silence: Duration = Self.usualSilence,
    stall: Duration = .seconds(60), liveQueueBytes: Int = 16 << 20, initialWindowBytes: Int = 128 << 10,
    random: @escaping @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }
  ) {
    self.kind = kind
    self.peerName = peerName
    self.appID = appID
    self.compressionLevel = compressionLevel
    self.helloDeadline = helloDeadline
    self.silence = silence
    self.stall = stall
    self.liveQueueBytes = liveQueueBytes
    self.initialWindowBytes = initialWindowBytes
    self.random = random
  }
}
