import CRDTCore

/// Groups on their way: small ones packed into fragments, large ones cut into chunks between them.
final class SendQueue {
  /// A large group that is being sent, or waits.
  struct Transfer {
    let number: UInt64
    let bytes: [UInt8]
    let documents: Int
    let sequence: UInt64
    let isBulk: Bool
    let collections: CollectionSet
    /// What was packed of it, or is being packed.
    var offset = 0
    /// What of it the receiver has, from the next stretch on.
    var stretches: ArraySlice<PeerStages.Stretch> = []
  }

  /// A small group in the stream, by where it ends.
  struct SmallGroup {
    var end: UInt64
    let documents: Int
    let sequence: UInt64
    let isBulk: Bool
    let collections: CollectionSet
  }

  let context: SessionContext
  let packer: Packer
  var window: FlowWindow
  /// Plain bytes of small groups; those before `streamHead` have been sent.
  var stream: [UInt8] = []
  var streamHead = 0
  /// Bytes of the stream that were sent.
  var streamStart: UInt64 = 0
  var smallGroups = WorkQueue<SmallGroup>()
  /// Whether a part of the first of them was sent.
  var isFirstBegun = false
  var transfers = WorkQueue<Transfer>()
  /// Pieces of large groups in their order, up to the last one that is being packed.
  var packing = PackingLine()
  /// Numbers large groups as they are queued.
  var lastQueued: UInt64 = 0
  /// The group of which a part has gone out and not the end.
  var openTransfer: UInt64?
  /// How much of that group, or of the next, the receiver had.
  var reusedBytes = 0
  /// Counts large groups as they begin to go out.
  var transferNumber: UInt64 = 0
  /// Log sequences of the groups that went out whole and are not acknowledged, in their order on the wire.
  var unacknowledged = WorkQueue<UInt64>()
  var waitingTransferBytes = 0
  /// Groups taken and groups gone out, by channel, so that one can wait for all there were.
  private(set) var taken = Progress()
  var gone = Progress()
  var turns = LinkTurns()
  /// When something was sent last; `nil` once the buffers and compressors for sending are freed.
  var lastPacked: Duration?
  /// What the receiver has of large groups whose links broke.
  var peerStages = PeerStages()

  struct Progress: Equatable {
    var small: UInt64 = 0
    var large: UInt64 = 0

    func covers(_ other: Progress) -> Bool { small >= other.small && large >= other.large }
  }

  init(_ context: SessionContext) {
    self.context = context
    let configuration = context.configuration
    packer = Packer(
      level: configuration.compressionLevel, isLocal: configuration.isLocal,
      patience: context.tuning.packingPatience)
    let bytes = configuration.isLocal ? SyncLimits.localWindowBytes : configuration.initialWindowBytes
    window = FlowWindow(bytes: bytes, now: context.now)
  }

  /// Learns how long the peer's hello took to come: a long way is begun on with little.
  func begin(helloDelay: Duration) {
    packer.policy.isLongLink = helloDelay > SyncLimits.longHello
    guard helloDelay > SyncLimits.longHello else { return }
    window = FlowWindow(
      bytes: min(context.configuration.initialWindowBytes, SyncLimits.longLinkWindowBytes), now: context.now)
  }

  /// Whether large groups wait of which a part is not in line to go out.
  var hasWaitingTransfers: Bool { !transfers.isEmpty }
  var hasTransfers: Bool { !transfers.isEmpty || !packing.isEmpty }
  var streamBytes: Int { stream.count - streamHead }
  var isIdle: Bool { streamBytes == 0 && transfers.isEmpty && packing.isEmpty }
  /// Whether the receiver has applied all that there was to send.
  var isConfirmed: Bool { isIdle && window.acknowledged.groups == window.sent.groups }

  /// After so long without anything to send, the buffers and compressors for sending are freed.
  static let restAfter = Duration.seconds(8)

  /// Frees the buffers and compressors for sending when nothing was sent for long.
  ///
  /// The session calls it whenever it looks at the time, which it does at least for each ping.
  /// - Returns: Whether it did so now.
  func rest(_ now: Duration) throws(SyncError) -> Bool {
    guard let lastPacked, now - lastPacked >= Self.restAfter, isIdle else { return false }
    self.lastPacked = nil
    stream = []
    try packer.rest()
    return true
  }

  /// Takes a group.
  ///
  /// - Parameters:
  ///   - group: Documents that become visible together.
  ///   - sequence: The commit that it carries, or what binds an answer; 0 when it is neither.
  ///   - isBulk: Whether nobody waits for it more than for others.
  ///   - mayOvertake: Whether it may go out before large groups that are waiting.
  func add(_ group: borrowing GroupEncoder, sequence: UInt64, isBulk: Bool, mayOvertake: Bool) {
    let isLarge = group.byteCount + 8 > smallGroupBytes || !mayOvertake && hasTransfers
    // Parts keep their order, whatever their lengths.
    guard isLarge || group.part != nil else {
      group.write(to: &stream)
      taken.small += 1
      smallGroups.append(
        SmallGroup(
          end: streamStart + UInt64(streamBytes), documents: group.documentCount, sequence: sequence,
          isBulk: isBulk, collections: group.collections))
      return
    }
    let plain = group.bytes
    let bytes = isSlow(plain.count) ? ColumnGroup.split(plain) ?? plain : plain
    waitingTransferBytes += bytes.count
    taken.large += 1
    lastQueued += 1
    transfers.append(
      Transfer(
        number: lastQueued, bytes: bytes, documents: group.documentCount, sequence: sequence,
        isBulk: isBulk, collections: group.collections))
  }

  /// Whether a group takes so long that its link may well break meanwhile, or goes on where an earlier one did.
  private func isSlow(_ byteCount: Int) -> Bool {
    guard !context.configuration.isLocal else { return false }
    let span = context.tuning.slowTransferSpan
    guard peerStages.isEmpty, span > .zero else { return true }
    guard let rate = window.rate else { return packer.policy.isLongLink }
    return Double(turns.chunks.wireBytes(byteCount)) > rate * (span / .seconds(1))
  }

  /// The largest group that goes into the stream: on a slow link less, so that others need not wait behind it.
  private var smallGroupBytes: Int {
    guard let rate = window.rate, rate < SyncLimits.slowLinkRate else { return SyncLimits.smallGroupBytes }
    return SyncLimits.slowSmallGroupBytes
  }

  /// Takes the receiver's totals.
  ///
  /// - Returns: The sequences of the groups that it has applied since.
  func take(_ totals: Acknowledgement) throws(SyncError) -> [UInt64] {
    let settled = totals.groups &- window.acknowledged.groups
    try window.take(totals, now: context.now)
    return (0..<settled).compactMap { _ in unacknowledged.removeFirst() }
  }

  /// The least sequence of a live group that is not acknowledged.
  func firstUnacknowledged() -> UInt64? {
    sequences.filter { (1..<RecentGroups.firstBinding).contains($0) }.min()
  }

  /// What binds the groups that are not acknowledged and were asked for as a whole.
  var bindings: [UInt64] { sequences.filter { $0 >= RecentGroups.firstBinding } }

  private var sequences: [UInt64] {
    unacknowledged.map { $0 } + smallGroups.map(\.sequence) + packing.sequences + transfers.map(\.sequence)
  }
}

/// The collections of a group's documents; nearly always one.
struct CollectionSet {
  private var first: String?
  private var others: [String] = []

  mutating func insert(_ name: String) {
    guard let first else {
      self.first = name
      return
    }
    if !first.isSame(as: name), !others.contains(where: name.isSame) { others.append(name) }
  }

  func contains(where isForbidden: (String) -> Bool) -> Bool {
    guard let first else { return false }
    return isForbidden(first) || others.contains(where: isForbidden)
  }
}
