import CRDTCore
import DocStore

extension Supply {
  /// Adds a document to the group that is being encoded, as far as it concerns the peer.
  func include(
    _ inclusion: Inclusion, _ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView,
    _ source: Source
  ) throws {
    if !oversize.isEmpty, oversize.contains(source.key(of: id)) { return }
    let isMatch = source.matcher.matches(id, record)
    var flags = source.flags(id, record)
    var base = VersionVector()
    var told: Summary?
    switch inclusion {
    case .whole:
      guard isMatch else { return }
    case .requested(let request):
      if !isMatch { watch.insert(source.key(of: id)) }
      guard isMatch || request.isHeld else { return }
      if let hash = request.hash, hash == Fingerprint.hash(id: id, summary: summary) { return }
      // Equal vectors with other content call for the whole state, by which the receiver settles it.
      if try record.vector(sites: source.tables.sites) != request.vector { base = request.vector }
      told = summary
      if request.isReply { flags |= GroupEncoder.replyFlag }
    }
    try batch.append(
      id, record, base: base, of: source.collection, source.tables, flags: flags, summary: told)
  }
}
