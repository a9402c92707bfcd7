/// Documents on the wire: the canonical form of a state or of the part that a peer lacks.
package enum WireDocument {
  /// Appends what `base` lacks of a record; an empty base gives the whole document.
  ///
  /// - Throws: A `CodecError` when the record is damaged or the tables too old for it.
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

  /// Refuses bytes that are not one canonical wire document.
  ///
  /// - Complexity: O(*n*) in the bytes.
  package static func validate(_ bytes: RawSpan) throws(CodecError) { _ = try WireReader.read(bytes) }

  /// What a document builds on and what it includes, without reading its entries.
  package static func vectors(_ bytes: RawSpan) throws(CodecError) -> (
    base: VersionVector, vector: VersionVector
  ) {
    let head = try WireReader.readHead(bytes)
    return (head.base, head.vector)
  }

  /// The greatest reading a document mentions, for the receiver's clock.
  package static func latest(_ bytes: RawSpan) throws(CodecError) -> ClockReading {
    let head = try WireReader.readHead(bytes)
    return max(head.vector.latest, head.life.reading)
  }
}

extension VersionVector {
  /// Appends the vector on its own, with absolute sites and readings.
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
    for _ in 0..<(try reader.readCount(minimumBytes: 25)) {
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
