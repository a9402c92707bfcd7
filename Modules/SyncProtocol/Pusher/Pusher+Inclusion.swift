import CRDTCore
import DocStore
import Failpoints

extension Pusher {
  /// Adds a document to the group that is being encoded, if the peer is to be sent it.
  func include(
    _ inclusion: Inclusion, _ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView,
    _ source: Source
  ) throws {
    guard goesOut(inclusion, id, summary, record, source) else { return }
    var flags = source.flags(id, record)
    var base = VersionVector()
    // Default data is not in the vector, so only the summary tells the receiver that both have the same.
    var told = record.isDefault ? summary : nil
    var isWhole = false
    switch inclusion {
    case .whole:
      // The peer may have requested it because both have the same version with different contents.
      if !reconciliation.isActive, !requests.isEmpty { (told, isWhole) = (summary, true) }
    case .requested(let request):
      // Equal vectors with different contents need the full state, with which the receiver settles it.
      if try record.vector(sites: source.tables.sites) != request.vector { base = request.vector }
      told = summary
      if request.isReply { flags |= GroupEncoder.replyFlag }
    case .unasked(let reading):
      SyncPoint.sentUnasked.reached()
      base = record.version(
        try record.vector(sites: source.tables.sites), beforeWritesOf: context.store.site, after: reading,
        sites: source.tables.sites)
      told = summary
    }
    if !reconciliation.isActive {
      motion.insert(
        source.key(of: id), hash: Fingerprint.hash(id: id, summary: summary), group: batch.sequence,
        isWhole: isWhole)
    }
    try batch.append(
      id, record, base: base, of: source.collection, source.tables, flags: flags, summary: told)
  }

  /// Whether a document is sent at all, for the given reason.
  func goesOut(
    _ inclusion: Inclusion, _ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView,
    _ source: Source
  ) -> Bool {
    let isMatch = source.matcher.matches(id, record)
    let goesOut =
      switch inclusion {
      case .whole: isMatch
      case .requested(let request):
        (isMatch || request.isHeld || motion.isOvertaking(request.name))
          && isLacking(request, id, summary, source)
      case .unasked:
        isMatch
          && !motion.holds(source.key(of: id), hash: Fingerprint.hash(id: id, summary: summary))
      }
    if !isMatch, case .requested = inclusion { watch.insert(source.key(of: id)) }
    guard goesOut, let byteCount = source.oversizeBytes(of: id) else {
      // The peer may have received it another way.
      if case .requested(let request) = inclusion, request.isHeld {
        context.withheld.remove(source.key(of: id))
      }
      return goesOut
    }
    // A peer that has a copy is sent what it lacks.
    if case .requested(let request) = inclusion, request.isHeld || !request.vector.isEmpty,
      byteCount <= SyncLimits.documentBytes
    {
      context.withheld.remove(source.key(of: id))
      return true
    }
    context.withhold(source.key(of: id), in: source.collection.name, byteCount: byteCount)
    return false
  }

  private func isLacking(
    _ request: DocumentRequest, _ id: RawSpan, _ summary: Summary, _ source: Source
  ) -> Bool {
    let hash = Fingerprint.hash(id: id, summary: summary)
    guard request.hash != hash else { return false }
    // What was not in a group that the peer sent needs no answer if it is on its way; what the peer asked for does.
    return !request.isReply || motion.judge(source.key(of: id), hash: hash, seen: request.seen) == .lacking
  }
}
