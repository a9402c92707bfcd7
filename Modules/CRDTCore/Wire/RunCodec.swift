/// Applies the writes of a run to the stored states, one document after the other.
package struct RunCodec {
  private let head: RunHead
  private let sole: SoleWrite?
  /// Memory for an operation delta.
  private var wire = ByteWriter(capacity: 256)

  package init(_ head: RunHead) {
    self.head = head
    sole = SoleWrite(head)
  }

  /// Applies the write of one document.
  ///
  /// The result is not compared here: the caller that applies a run compares all results with their sum.
  ///
  /// - Parameters:
  ///   - entries: The entries of the document's operation delta, from
  ///     ``RunHead/appendEntries(_:columns:to:)``.
  ///   - document: The stored document.
  ///   - site: The store's own site.
  ///   - tables: The tables of the document's collection.
  ///   - route: The route of the change.
  /// - Returns: `nil` if the write is not later than the stored state, or does not fit it.
  /// - Throws: A `CodecError` for malformed entries or a damaged record.
  package mutating func apply(
    _ entries: RawSpan, to document: StoredDocument, own site: SiteID, tables: inout RecordTables,
    by route: CodecRoute = .shortest
  ) throws(CodecError) -> EncodedDocument? {
    if route != .tree, site != head.site, let made = sole?.apply(entries, to: document, tables) {
      return made
    }
    guard route != .patch else { return nil }
    wire.bytes.removeAll(keepingCapacity: true)
    guard try head.appendOperationDelta(entries, onto: document, sites: tables.sites, to: &wire) else {
      return nil
    }
    let outcome = try DocumentCodec.merge(
      wire: wire.bytes.span.bytes, existing: document, own: site, tables: &tables, by: route,
      checkingResult: false)
    guard case .changed(let made) = outcome else { return nil }
    return made
  }
}

/// The write of a run that sets one scalar, for documents that only its writer has written.
///
/// The result is the same as that of ``WirePatch``, which handles all other cases.
private struct SoleWrite {
  private let stamping: Stamping
  private let key: [UInt8]
  private let tag: ValueCodec.Tag
  /// The offset of the value in the entries of a document.
  private let valueOffset: Int

  /// - Returns: `nil` for any other run.
  init?(_ head: RunHead) {
    guard head.life == .stays, head.valueCount == 1 else { return nil }
    var reader = ByteReader(head.shape.span.bytes)
    guard let count = try? reader.readCount(minimumBytes: 2), count == 1, let key = try? reader.readBlob(),
      !key.isIDKey, let kind = try? reader.readByte(), reader.isAtEnd,
      let tag = ValueCodec.Tag(rawValue: kind)
    else { return nil }
    switch tag {
    case .null, .no, .yes, .int, .double, .string: break
    case .bytes, .array, .attachment, .map, .counter: return nil
    }
    stamping = Stamping(site: head.site, reading: head.reading)
    self.key = unsafe key.withUnsafeBytes { unsafe Array($0) }
    self.tag = tag
    valueOffset = head.shape.count
  }

  /// - Returns: `nil` for what the general way must apply or refuse.
  func apply(
    _ entries: RawSpan, to document: StoredDocument, _ tables: RecordTables
  ) -> EncodedDocument? {
    let view = RecordView(document.record)
    guard view.isAlive, entries.byteCount >= valueOffset else { return nil }
    var walk = EntryWalk(view)
    guard walk.step(to: key.span.bytes, tables.keys) else { return nil }
    let old = walk.value
    guard old.kind != .map, old.kind != .counter else { return nil }
    var value = ByteReader(entries, offset: valueOffset)
    let content: SlotContent
    switch tag {
    case .null: content = SlotContent(null: ())
    case .no, .yes: content = SlotContent(bool: tag == .yes)
    case .int:
      guard let int = try? value.readSignedVarint() else { return nil }
      content = SlotContent(int: int)
    case .double:
      guard let bits: UInt64 = try? value.readFixed() else { return nil }
      let double = Double(bitPattern: bits)
      guard ValueCodec.canonicalBits(double) == bits else { return nil }
      content = SlotContent(double: double)
    case .string:
      guard let utf8 = try? value.readBlob(), utf8.isPlainText else { return nil }
      content = SlotContent(string: utf8)
    case .bytes, .array, .attachment, .map, .counter: return nil
    }
    var record: [UInt8] = []
    guard value.isAtEnd,
      let summary = SolePatch.set(
        view, old, at: walk.location, to: content, document.summary, stamping, isOwn: false, tables.sites,
        in: &record)
    else { return nil }
    return EncodedDocument(record: record, summary: summary, isAlive: true)
  }
}
