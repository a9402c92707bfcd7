/// Makes a new document's record directly from its JSON text.
///
/// Bytes and summary are the same as if the text were converted to values first. The encoder reuses its
/// memory for the next document.
package struct JSONRecordEncoder {
  private var tape = JSONTape()
  /// The values that all documents of one stamp share.
  private var shared: Shared?

  private struct Shared {
    let stamp: Stamp
    let hash: HashLanes
    /// The summary's part without the entries.
    let summary: Summary
    let site: UInt32

    init(_ stamp: Stamp, _ sites: inout SiteTable) {
      self.stamp = stamp
      hash = StateHash.stamp(stamp)
      var summary = Summary.zero
      summary.add(StateHash.life(stamp, isAlive: true))
      if stamp.reading != .zero {
        let writer = Writer(site: stamp.site, birth: stamp.reading)
        summary.add(StateHash.included(.init(writer: writer, reading: stamp.reading)))
      }
      self.summary = summary
      site = sites.intern(stamp.site)
    }
  }

  package init() {}

  /// A document that was read: its id's canonical bytes, and its record.
  package struct Encoded {
    package let id: [UInt8]
    package let document: EncodedDocument
  }

  /// Encodes a document of which nothing is known.
  ///
  /// - Parameters:
  ///   - text: One JSON object with a string as its `_id`.
  ///   - isDefault: Whether it is default data, which has stamp zero.
  ///   - stamping: The site and time of the write.
  ///   - tables: The collection's dictionaries; no key is added.
  /// - Returns: `nil` if `JSON.parse` must read the text: it has a key that is not in the table, something
  ///   rare, or a mistake.
  package mutating func encode(
    _ text: RawSpan, isDefault: Bool, stamping: Stamping, tables: inout RecordTables
  ) -> Encoded? {
    guard tape.take(text, keys: tables.keys) else { return nil }
    let stamp = isDefault ? .zero : Stamp(reading: stamping.reading, site: stamping.site)
    let shared: Shared
    if let known = self.shared, known.stamp == stamp, tables.sites[known.site] == stamp.site {
      shared = known
    } else {
      shared = Shared(stamp, &tables.sites)
      self.shared = shared
    }
    var summary = shared.summary
    let capacity =
      RecordLayout.headerBytes + tape.members.count * 18 + tape.mapCount * 4 + tape.textBytes
      + tape.aside.count
    var isDone = false
    let record = unsafe [UInt8](unsafeUninitializedCapacity: capacity) { room, count in
      guard let start = room.baseAddress else { return }
      var writer = unsafe JSONRecordWriter(
        UnsafeMutableRawPointer(start), capacity: capacity, text: text, tape: tape, stamp: stamp,
        stampHash: shared.hash, summary: summary)
      isDone = writer.write(site: shared.site, isOwn: !isDefault)
      count = isDone ? writer.count : 0
      summary = writer.summary
    }
    guard isDone else { return nil }
    let range = tape.idRange
    let id = unsafe [UInt8](unsafeUninitializedCapacity: range.count + 1) { room, count in
      unsafe room[0] = DocumentID.stringTag
      unsafe text.extracting(range).withUnsafeBytes { bytes in
        unsafe UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(room)[1...]).copyMemory(
          from: bytes)
      }
      count = range.count + 1
    }
    return Encoded(id: id, document: EncodedDocument(record: record, summary: summary, isAlive: true))
  }
}
