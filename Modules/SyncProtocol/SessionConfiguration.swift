import CRDTCore

/// The configuration of a session.
public struct SessionConfiguration: Sendable {
  /// The kind of this peer.
  public var kind: PeerKind
  /// The name of this peer in the other's logs.
  public var peerName: String
  /// The application; peers of different applications reject each other.
  public var appID: String
  /// The zlib level, 0 (none) to 9; other values count as 1; `nil` adapts to the speed of the link.
  public var compressionLevel: Int?
  /// How long the peer may take to send its hello.
  public var helloDeadline: Duration
  /// After this long without a frame the link counts as dead.
  ///
  /// A ping is sent after a third of it, or of the peer's value if that is shorter.
  public var silence: Duration
  /// How long the peer may acknowledge or answer nothing before the session ends.
  ///
  /// A peer that was slow before gets more time. Requests add a second for each thousand bytes, up to ten
  /// times this.
  public var stall: Duration
  /// Bytes of local changes that may wait for the link before the log or reconciliation takes over.
  public var liveQueueBytes: Int
  /// Bytes in flight before the speed of the link is known.
  public var initialWindowBytes: Int
  /// Bytes of memory that a session may hold for its peer.
  ///
  /// Three eighths are for received data that is not applied, besides one transaction. Beyond that the peer
  /// has to wait. All of it is for the peer's subscriptions and requests. Beyond that the session ends.
  public var peerMemoryBytes = 16 << 20
  /// The same for all sessions of a store: three eighths for received data, half for requests.
  public var allPeersMemoryBytes = 64 << 20
  /// Random bits, for values that must differ between sessions.
  public var random: @Sendable () -> UInt64

  /// Whether this peer runs statements for others; sync scopes do not restrict them.
  public var answersRemoteQueries = false
  /// The limits of a statement that this peer runs for another.
  public var remoteQueryLimits = RemoteQueryLimits()

  /// The bytes of received, unapplied data that a session may hold, and that all sessions may hold.
  ///
  /// The share is only three eighths because a transaction holds its records twice more: for observers and in
  /// pages. Also, one transaction is accepted whatever the other sessions hold. A third of the share of all
  /// sessions is for those that hold little, beside the limit (`PeerMemory`).
  package var arrivedBytes: Int { peerMemoryBytes / 8 * 3 }
  package var allArrivedBytes: Int { allPeersMemoryBytes / 4 }

  /// Whether both ends of the link are on one machine.
  ///
  /// A first sync is then sent uncompressed, in large chunks. Such a link is as fast as memory, so
  /// compression would take longer than it saves. Leave this `false` for any other link: the session measures
  /// the speed and compresses accordingly. The two ends need not agree.
  public var isLocal = false
  /// Whether the peer made the connection: it then sends its hello first, and gets one after admission.
  package var isIncoming = false
  /// Whether the driver decides after the peer's hello whether the session goes on.
  package var asksForAdmission = false
  /// What the other peer may do, where the driver does not decide about its admission.
  package var access: PeerAccess

  /// Whether this peer evicts what other peers withdraw: its own grant does not let it read everything.
  package var obeysWithdrawals = false

  /// The value of ``silence`` for a peer that does not send its own.
  public static let usualSilence = Duration.seconds(30)

  /// Whether the driver compresses chunks of large transactions on other threads.
  ///
  /// The session then returns ``Action/pack(_:)`` for at most eight chunks at a time. Otherwise it compresses
  /// them within its own calls; a chunk of 64 KiB takes about a millisecond.
  public var packsOutside = false
  /// Parameters of how the session behaves, for tests and simulations.
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
    // Programs that run sessions by themselves judge no certificates, so they have no grants to obey.
    access = .everything
  }
}
