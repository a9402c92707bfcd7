/// Documents on the wire: the canonical form of a state, or of the part that a peer lacks.
package enum WireDocument {
  /// Appends the part of a record that `base` lacks; for an empty base, this is the full state.
  ///
  /// - Throws: A `CodecError` when the record is damaged or the tables are too old for it.
  package static func append(
    _ record: borrowing RecordView, lacking base: VersionVector, tables: RecordTables,
    to out: inout ByteWriter, by route: CodecRoute = .shortest
  ) throws(CodecError) {
    if route != .tree, !base.isEmpty, WireDelta.append(record, lacking: base, tables: tables, to: &out) {
      return
    }
    guard route != .patch else { return }
    if route != .tree, base.isEmpty, try WireTranscoder.append(fresh: record, tables: tables, to: &out) {
      return
    }
    let state = try DocumentState(record, tables: tables)
    WireWriter.append(base.isEmpty ? state : state.delta(lacking: base), to: &out)
  }

  /// Refuses bytes that are not one canonical wire document: a full state, a delta or an operation delta.
  ///
  /// - Complexity: O(*n*) in the bytes.
  package static func validate(_ bytes: RawSpan) throws(CodecError) {
    if OperationDeltaHead.announces(bytes) {
      try OperationDeltaReader.validate(bytes)
    } else {
      _ = try WireReader.read(bytes)
    }
  }

  /// Whether a document is an operation delta, which applies to one state only.
  package static func isOperationDelta(_ bytes: RawSpan) -> Bool { OperationDeltaHead.announces(bytes) }

  /// Whether one write made the whole document, and nothing in it has changed since.
  package static func isUniform(_ bytes: RawSpan) -> Bool {
    bytes.byteCount > 0 && bytes.byte(at: 0) & WireWriter.uniformFlag != 0
      && !OperationDeltaHead.announces(bytes)
  }

  /// Returns what a document can be merged with, without reading its entries.
  ///
  /// - Parameters:
  ///   - bytes: A wire document.
  ///   - like: The result for another document that is likely to be equal, so that both share their memory.
  /// - Returns: The identity of a state for an operation delta; otherwise the base and the version vector.
  /// - Throws: A `CodecError` when the head is malformed.
  package static func basis(_ bytes: RawSpan, like: WireBasis? = nil) throws(CodecError) -> WireBasis {
    if OperationDeltaHead.announces(bytes) {
      var reader = ByteReader(bytes)
      return .state(try OperationDeltaHead(from: &reader).step)
    }
    if isUniform(bytes) {
      var reader = ByteReader(bytes)
      let life = try WireReader.readUniformHead(&reader)
      if let like, case .vectors(let base, let vector, _) = like, base.isEmpty, vector.isSole(life) {
        return like
      }
      return .vectors(base: VersionVector(), vector: VersionVector(birth: life), life: life)
    }
    let head = try WireReader.readHead(bytes)
    return .vectors(base: head.base, vector: head.vector, life: head.life)
  }

  /// Returns the base and the vector of a full state or a delta, without reading its entries.
  package static func vectors(_ bytes: RawSpan) throws(CodecError) -> (
    base: VersionVector, vector: VersionVector
  ) {
    let head = try WireReader.readHead(bytes)
    return (head.base, head.vector)
  }

  /// Returns the floor that a full state or a delta knows of, without reading its entries.
  ///
  /// - Throws: A `CodecError` when the head is malformed.
  package static func floor(_ bytes: RawSpan) throws(CodecError) -> Stamp {
    try WireReader.readHead(bytes).floor
  }

  /// Returns the greatest clock reading that a document mentions, for the receiver's clock.
  ///
  /// - Parameters:
  ///   - bytes: The document; an operation delta mentions only the distance from its base state.
  ///   - existing: The receiver's record of it.
  ///   - sites: The table that the record's ordinals refer to.
  /// - Returns: The clock reading; zero for an operation delta if there is no record.
  /// - Throws: A `CodecError` when either is malformed.
  package static func latest(
    _ bytes: RawSpan, onto existing: RawSpan? = nil, sites: SiteTable = SiteTable()
  ) throws(CodecError) -> ClockReading {
    guard OperationDeltaHead.announces(bytes) else {
      let head = try WireReader.readHead(bytes)
      return max(head.vector.latest, head.life.reading)
    }
    var reader = ByteReader(bytes)
    let head = try OperationDeltaHead(from: &reader)
    guard let existing else { return .zero }
    return head.reading(after: try RecordView(existing).history(sites: sites).latest) ?? .zero
  }

  // MARK: - Operation deltas

  /// Returns the author and the time of an operation delta, with the help of the record of its base state.
  ///
  /// - Returns: `nil` for an operation delta on another state.
  package static func authorship(
    of operationDelta: RawSpan, onto existing: RawSpan, sites: SiteTable
  ) throws(CodecError) -> (site: SiteID, reading: ClockReading)? {
    var reader = ByteReader(operationDelta)
    let head = try OperationDeltaHead(from: &reader)
    let (vector, latest) = try RecordView(existing).history(sites: sites)
    guard let reading = head.reading(after: latest) else { return nil }
    switch head.author {
    case .new(let site): return (site, reading)
    case .known(let place):
      guard let writer = vector.newest(at: place)?.writer else { return nil }
      return (writer.site, reading)
    }
  }

  /// Returns the one write between a document's former state and the present one.
  ///
  /// It is for a receiver that has exactly the former state. The summaries, or a merge with the former state,
  /// ensure that it leads to the present state.
  ///
  /// - Returns: `nil` if there was more than one writer's latest write, or if the document started afresh.
  /// - Throws: A `CodecError` when a record is damaged or the tables are too old for it.
  package static func operationDelta(
    of former: StoredDocument, to document: StoredDocument, tables: RecordTables,
    by route: CodecRoute = .shortest
  ) throws(CodecError) -> WireOperationDelta? {
    if route == .shortest, let made = SoleOperationDelta.make(from: former, to: document, tables: tables) {
      return made
    }
    let view = RecordView(document.record)
    let (base, latest) = try RecordView(former.record).history(sites: tables.sites)
    let vector = try view.vector(sites: tables.sites)
    guard let succession = Succession(from: base, latest: latest, to: vector) else { return nil }
    let step = WireStep(from: former.summary, to: document.summary)
    var written = ByteWriter(capacity: 64)
    if route == .tree
      || !WireDelta.append(view, succession, lacking: base, latest, step, tables: tables, to: &written)
    {
      let state = try DocumentState(view, tables: tables)
      guard route != .patch,
        OperationDeltaWriter.append(
          succession, from: base, latest: latest, step: step, to: state, out: &written)
      else { return nil }
    }
    var tables = tables
    guard
      case .changed(let merged) = try DocumentCodec.merge(
        wire: written.bytes.span.bytes, existing: former, own: .zero, tables: &tables),
      merged.summary == document.summary
    else { return nil }
    return WireOperationDelta(bytes: written.bytes, base: base, succession)
  }
}

extension ByteReader {
  /// Reads how many writers follow; each takes at least `minimumBytes` bytes.
  package mutating func readWriterCount(minimumBytes: Int) throws(CodecError) -> Int {
    let start = offset
    let count = try readCount(minimumBytes: minimumBytes)
    guard count <= Limits.sitesPerDocument else {
      throw CodecError(.limit, "a document has \(count) writers", at: start)
    }
    return count
  }
}

/// An operation delta: one write on top of a state, as it is sent.
package final class WireOperationDelta: Sendable {
  package let bytes: [UInt8]
  /// The version vector of the state before.
  package let base: VersionVector
  /// What the state after it includes in addition.
  let succession: Succession

  init(bytes: [UInt8], base: VersionVector, _ succession: Succession) {
    self.bytes = bytes
    self.base = base
    self.succession = succession
  }
}

/// What a wire document can be merged with.
package enum WireBasis: Sendable {
  /// Any state that includes the base; the merged state then includes the vector, too.
  ///
  /// `life` is the stamp at which the document last became alive or was deleted. The vector of a compacted
  /// tombstone does not include it.
  case vectors(base: VersionVector, vector: VersionVector, life: Stamp)
  /// Only the state that the step starts from.
  case state(WireStep)
}

extension VersionVector {
  /// Makes the vector of a document that one write made: its birth, unless it is default data.
  init(birth: Stamp) {
    self.init()
    if birth.reading > .zero {
      advance(Writer(site: birth.site, birth: birth.reading), to: birth.reading)
    }
  }

  /// Whether this is the vector of a document that one write made at that stamp.
  fileprivate func isSole(_ birth: Stamp) -> Bool {
    guard elements.count == 1, birth.reading > .zero else { return false }
    return elements[0].writer == Writer(site: birth.site, birth: birth.reading)
      && elements[0].reading == birth.reading
  }

  /// Appends the vector by itself, with absolute sites and readings.
  package func encode(to out: inout ByteWriter) {
    out.writeVarint(elements.count)
    for element in elements {
      out.write(element.writer.site)
      out.writeFixed(element.writer.birth.rawValue)
      out.writeDistance(element.reading, from: element.writer.birth)
    }
  }

  package init(from reader: inout ByteReader) throws(CodecError) {
    var elements: [Element] = []
    for _ in 0..<(try reader.readWriterCount(minimumBytes: 25)) {
      let writer = Writer(site: try reader.readSite(), birth: ClockReading(rawValue: try reader.readFixed()))
      let reading = try reader.readDistance(from: writer.birth)
      guard writer.birth > .zero, reading >= writer.birth, elements.last.map({ $0.writer < writer }) ?? true
      else {
        throw reader.failure(.malformed, "a version vector is not in order")
      }
      elements.append(Element(writer: writer, reading: reading))
    }
    self.init(elements)
  }
}
