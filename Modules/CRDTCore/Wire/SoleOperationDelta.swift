/// The operation delta of a write that set one field of a document that only one store has written.
///
/// This is the most frequent kind, so it takes no unnecessary step. The result is the same as that of
/// ``WireDelta``. The summaries of the two states show whether the write was the whole difference.
enum SoleOperationDelta {
  /// - Returns: `nil` for what this type cannot handle.
  static func make(
    from former: StoredDocument, to document: StoredDocument, tables: RecordTables
  ) -> WireOperationDelta? {
    let (before, after) = (RecordView(former.record), RecordView(document.record))
    guard before.isAlive, after.isAlive, let write = SolePatch.write(from: before, to: after),
      let site = tables.sites[write.ordinal], let index = after.rootIndex(ofEntry: write.entry)
    else { return nil }
    let (formerRoot, root) = (before.root, after.root)
    guard !root.carriesKeys, !formerRoot.carriesKeys, index < formerRoot.count,
      root.keyID(index) == formerRoot.keyID(index), let name = tables.keys.hash(of: root.keyID(index))
    else { return nil }
    let old = ValueRef(before.bytes, slotAt: formerRoot.slotOffset(index))
    let new = ValueRef(after.bytes, slotAt: root.slotOffset(index))
    guard old.kind != .map, old.kind != .counter, new.kind != .map, new.kind != .counter else { return nil }

    let siteHash = StateHash.site(site)
    let path = StateHash.root.combined(with: name)
    var summary = former.summary
    summary.subtract(StateHash.included(write.birth, write.latest, siteHash))
    summary.add(StateHash.included(write.birth, write.reading, siteHash))
    summary.subtract(
      path.combined(with: StateHash.stamp(write.former, siteHash)).combined(with: old.stateHash))
    summary.add(path.combined(with: StateHash.stamp(write.reading, siteHash)).combined(with: new.stateHash))
    guard summary == document.summary else { return nil }

    var out = ByteWriter(capacity: 64)
    let writer = Writer(site: site, birth: write.birth)
    let succession = Succession(writer: writer, author: .known(place: 1), reading: write.reading)
    OperationDeltaHead(
      life: .stays, step: WireStep(from: former.summary, to: summary), author: succession.author,
      reading: succession.reading, after: write.latest
    ).write(to: &out)
    out.writeVarint(1)
    let isKnown: Void? = tables.keys.withName(root.keyID(index)) { out.writeBlob($0) }
    guard isKnown != nil else { return nil }
    out.write(new.wireKind)
    new.writeContent(to: &out)
    return WireOperationDelta(
      bytes: out.bytes, base: VersionVector([.init(writer: writer, reading: write.latest)]), succession)
  }
}
