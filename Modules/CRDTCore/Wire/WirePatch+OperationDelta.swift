extension WirePatch {
  /// Merges an operation delta into its base state, with one stamp for all entries.
  mutating func mergeOperationDelta(
    into view: borrowing RecordView, _ summary: Summary, own site: SiteID, _ tables: inout RecordTables
  ) throws(CodecError) -> RecordPatch.Outcome {
    let head = try OperationDeltaHead(from: &reader)
    guard view.isAlive, head.life != .dies else { return .tooMuch }
    var summary = summary
    let wireBytes = reader.bytes.byteCount
    let keys = tables.keys
    let formerSites = tables.sites
    var delta = self
    let document = PatchWriters.with(view, adding: 1, own: site, tables.sites) { writers, reader in
      guard delta.take(head, into: &writers, &tables.sites, &summary) else { return EncodedDocument?.none }
      return RecordPatch.with(view, writers, &reader, summary, heapBytes: wireBytes) { patch in
        (try? delta.mergeEntries(into: &patch, keys)) ?? false
      }
    }
    if let document { return .patched(document) }
    tables.sites = formerSites
    return .tooMuch
  }

  /// Makes the operation delta's writer the only one, and its stamp that of all entries.
  private mutating func take(
    _ head: OperationDeltaHead, into writers: inout PatchWriters, _ sites: inout SiteTable,
    _ summary: inout Summary
  ) -> Bool {
    guard let reading = head.reading(after: writers.latest) else { return false }
    var author = Element(birth: reading, reading: reading)
    switch head.author {
    case .new(let site): author.site = site
    case .known(let place):
      guard let writer = writers.newest(at: place) else { return false }
      (author.site, author.birth) = (writer.site, writer.birth)
    }
    author.place = writers.advance(author.site, born: author.birth, to: reading, &sites, &summary)
    if head.life == .lives { writers.live(author.place, reading, isAlive: true, &summary) }
    elements[0] = author
    elementCount = 1
    lifeWriter = 1
    life = reading
    hasChanged = true
    return true
  }

  var isOperationDelta: Bool { flags == WireWriter.operationDeltaFlag }

  mutating func mergeIncrement(
    _ walk: EntryWalk, into patch: inout RecordPatch
  ) throws(CodecError) -> Bool {
    let amount = try reader.readSignedVarint()
    let location = walk.location
    let contribution = RecordPatch.Contribution(
      place: elements[0].place, reading: life, amount: amount, isAdded: false)
    return patch.mark(of: location.entry).place != patch.writers.noRegister
      && patch.contribute(contribution, to: location)
  }
}
