import SyncProtocol

/// Bounds on a session's memory, from the numbers that were drawn for it and from the contents of its world.
struct FootprintBounds {
  private let liveBytes: Int
  private let waitingBytes: Int
  private let unappliedBytes: Int
  private let announcements: Int

  /// What one piece of a stream may be, and be made ready beside.
  private static let pieceBytes = 2 * SyncLimits.smallTransactionBytes

  /// What a change in a queue counts for beside its bytes.
  private static let documentBytes = 256

  init(_ configuration: SessionConfiguration, facing other: SessionConfiguration) {
    liveBytes = configuration.liveQueueBytes
    waitingBytes = configuration.tuning.transfers.waitingBytes + Self.pieceBytes
    // Before the receiver has said what it takes, the window alone bounds what comes.
    unappliedBytes =
      max(configuration.tuning.applying.creditBytes, 8 * SyncLimits.windowBytes.lowerBound) + Self.pieceBytes
    announcements =
      configuration.tuning.announcedDocuments + other.tuning.announcedDocuments
      + configuration.tuning.waitingOffers
  }

  /// The name of what there is too much of; `nil` when all is within bounds.
  func excess(of footprint: SessionFootprint, in world: World) -> String? {
    // One group is let in beside what waits, and may be all that there is.
    let documents = world.script.rules.collections * world.script.rules.documents
    let group = 2 * world.oracles.worldBytes + Self.documentBytes * documents + 4_096
    let bounds: [(name: String, value: Int, most: Int)] = [
      ("what is to be sent", footprint.liveBytes, liveBytes + group),
      ("what is encoded", footprint.waitingBytes, waitingBytes + group),
      ("what is to be applied", footprint.unappliedBytes, unappliedBytes + group),
      // A document may be asked for again before it went out; each change that waits is one, too.
      ("requests", footprint.requests, 32 * documents + footprint.liveBytes / 16 + 256),
      ("announcements", footprint.announcements, announcements + 4 * documents),
      ("what is compared", footprint.compared, 2 * documents),
      ("tasks", footprint.tasks, 8 * documents + SyncLimits.questions),
    ]
    return bounds.first { $0.value > $0.most }?.name
  }
}
