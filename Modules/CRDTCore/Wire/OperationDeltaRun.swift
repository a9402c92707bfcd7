/// The common part of many operation deltas.
///
/// They are one write, by one writer at one clock reading, on entries of the same keys and kinds.
package struct RunHead: Hashable, Sendable {
  /// The most bytes of a shape.
  package static let shapeBytes = 16 << 10

  package let site: SiteID
  package let reading: ClockReading
  let life: OperationDeltaHead.Life
  /// The entries without the values: counts, keys and kinds, as they are in an operation delta.
  let shape: [UInt8]
  /// The number of values of one document.
  package let valueCount: Int

  fileprivate init(
    site: SiteID, reading: ClockReading, life: OperationDeltaHead.Life, shape: [UInt8], valueCount: Int
  ) {
    self.site = site
    self.reading = reading
    self.life = life
    self.shape = shape
    self.valueCount = valueCount
  }

  package func write(to out: inout ByteWriter) {
    out.write(site)
    out.writeFixed(reading.rawValue)
    out.write(life.rawValue)
    out.writeBlob(shape)
  }

  package init(from reader: inout ByteReader) throws(CodecError) {
    let start = reader.offset
    site = try reader.readSite()
    reading = ClockReading(rawValue: try reader.readFixed())
    guard site != .zero, reading > .zero, reading <= .latestAccepted,
      let life = OperationDeltaHead.Life(rawValue: try reader.readByte())
    else { throw CodecError(.malformed, "a run has no writer, time or life", at: start) }
    self.life = life
    let bytes = try reader.readBlob()
    guard bytes.byteCount <= Self.shapeBytes else {
      throw reader.failure(.limit, "a run's shape takes \(bytes.byteCount) bytes")
    }
    let shape = unsafe bytes.withUnsafeBytes { unsafe Array($0) }
    var walk = ShapeWalk()
    var entries = ByteReader(shape.span.bytes)
    try walk.children(&entries, depth: 0) { (_, _, _) throws(CodecError) in }
    guard entries.isAtEnd else { throw reader.failure(.malformed, "a run's shape has bytes left over") }
    self.shape = shape
    valueCount = walk.valueCount
  }

  /// Appends one document's entries, and takes its values from the front of the columns.
  ///
  /// - Parameters:
  ///   - block: The bytes that contain the columns.
  ///   - columns: The rest of each column; there are ``valueCount``.
  ///   - out: Receives the entries that ``appendOperationDelta(_:onto:sites:to:)`` accepts.
  /// - Throws: A `CodecError` if a column does not contain such a value.
  package func appendEntries(
    _ block: RawSpan, columns: inout [Range<Int>], to out: inout ByteWriter
  ) throws(CodecError) {
    var walk = ShapeWalk()
    var entries = ByteReader(shape.span.bytes)
    var start = 0
    try walk.children(&entries, depth: 0) { (index, kind, place) throws(CodecError) in
      out.write(shape[start..<place.offset])
      start = place.offset
      var values = ByteReader(block.extracting(columns[index]))
      try ShapeWalk.skip(kind, &values, depth: place.depth)
      let end = columns[index].lowerBound + values.offset
      out.write(block.extracting(columns[index].lowerBound..<end))
      columns[index] = end..<columns[index].upperBound
    }
    out.write(shape[start...])
  }

  /// Appends the operation delta of a document's entries on top of the stored state.
  ///
  /// It does not contain the resulting state: its receiver compares only the sum of all results of a run.
  ///
  /// - Returns: `false`, with nothing appended, if the state is not earlier than the write.
  /// - Throws: A `CodecError` when the record is damaged.
  package func appendOperationDelta(
    _ entries: RawSpan, onto document: StoredDocument, sites: SiteTable, to out: inout ByteWriter
  ) throws(CodecError) -> Bool {
    let (vector, latest) = try RecordView(document.record).history(sites: sites)
    guard reading > latest else { return false }
    OperationDeltaHead(
      life: life, step: WireStep(from: document.summary, to: .zero), author: .init(site, in: vector),
      reading: reading, after: latest
    ).write(to: &out)
    out.write(entries)
    return true
  }
}

/// An operation delta, split into the part that a run shares and its own part.
package struct RunMember {
  package let head: RunHead
  package let step: WireStep
  /// Whether the head is the expected one.
  package let isAlike: Bool

  /// Splits an operation delta.
  ///
  /// It fails if the site alone does not identify the writer, or if the shape is too long.
  ///
  /// - Parameters:
  ///   - whole: The operation delta.
  ///   - likely: The previous delta's head, which most operation deltas of a run share; then no new one is
  ///     made.
  ///   - values: Receives, after its present elements, the ranges of the values in the delta's bytes, in
  ///     the order of the shape.
  /// - Throws: A `CodecError` when the bytes are not an operation delta.
  package init?(
    _ whole: WireOperationDelta, like likely: RunHead? = nil, values: inout [Range<Int>]
  ) throws(CodecError) {
    let succession = whole.succession
    let bytes = whole.bytes
    let operationDelta = bytes.span.bytes
    let site = succession.writer.site
    guard succession.author == .init(site, in: whole.base) else { return nil }
    var reader = ByteReader(operationDelta)
    let head = try OperationDeltaHead(from: &reader)
    step = head.step
    let first = values.count
    let start = reader.offset
    var walk = ShapeWalk()
    try walk.children(&reader, depth: 0, skipping: true) { (_, kind, place) throws(CodecError) in
      var value = ByteReader(operationDelta, offset: place.offset)
      try ShapeWalk.skip(kind, &value, depth: place.depth)
      values.append(place.offset..<value.offset)
    }
    guard reader.isAtEnd else { return nil }
    if let likely, likely.site == site, likely.reading == succession.reading, likely.life == head.life,
      Self.isShape(likely.shape, of: operationDelta, from: start, without: values[first...])
    {
      (self.head, isAlike) = (likely, true)
      return
    }
    var shape = ByteWriter(capacity: 64)
    var offset = start
    for value in values[first...] {
      shape.write(operationDelta.extracting(offset..<value.lowerBound))
      offset = value.upperBound
    }
    shape.write(operationDelta.extracting(offset..<operationDelta.byteCount))
    guard shape.count <= RunHead.shapeBytes else { return nil }
    self.head = RunHead(
      site: site, reading: succession.reading, life: head.life, shape: shape.bytes,
      valueCount: values.count - first)
    isAlike = false
  }

  /// Whether an operation delta's bytes from `start` on, without its values, are equal to `shape`.
  private static func isShape(
    _ shape: [UInt8], of operationDelta: RawSpan, from start: Int, without values: ArraySlice<Range<Int>>
  ) -> Bool {
    let valueBytes = values.reduce(0) { $0 + $1.count }
    guard operationDelta.byteCount - start - valueBytes == shape.count else { return false }
    let shape = shape.span.bytes
    var (offset, place) = (start, 0)
    for value in values {
      let end = place + value.lowerBound - offset
      guard operationDelta.extracting(offset..<value.lowerBound).isEqual(to: shape.extracting(place..<end))
      else {
        return false
      }
      (offset, place) = (value.upperBound, end)
    }
    return operationDelta.extracting(offset..<operationDelta.byteCount).isEqual(
      to: shape.extracting(place..<shape.byteCount))
  }
}

/// A walk over the entries of an operation delta, with the values or without.
private struct ShapeWalk {
  /// The place of a value, or the place where it belongs.
  struct Place {
    let offset: Int
    let depth: Int
  }

  private(set) var valueCount = 0

  /// Calls `body` with the number, the kind and the place of each value.
  mutating func children(
    _ reader: inout ByteReader, depth: Int, skipping: Bool = false,
    _ body: (Int, UInt8, Place) throws(CodecError) -> Void
  ) throws(CodecError) {
    guard depth <= Limits.depth else { throw reader.failure(.limit, "a document is nested too deep") }
    for _ in 0..<(try reader.readCount(minimumBytes: 2)) {
      _ = try reader.readBlob()
      let kind = try reader.readByte()
      switch kind {
      case WireWriter.emptyKind | WireWriter.childrenFlag, WireWriter.mapKind:
        try children(&reader, depth: depth + 1, skipping: skipping, body)
      case WireWriter.removedKind: break
      default:
        try body(valueCount, kind, Place(offset: reader.offset, depth: depth + 1))
        valueCount += 1
        if skipping { try Self.skip(kind, &reader, depth: depth + 1) }
      }
    }
  }

  /// Skips a value.
  static func skip(_ kind: UInt8, _ reader: inout ByteReader, depth: Int) throws(CodecError) {
    switch kind {
    case WireWriter.counterKind:
      _ = try reader.readSignedVarint()
      if try reader.readIndex(through: 1) == 1 { _ = try reader.readSignedVarint() }
    case OperationDeltaReader.incrementKind: _ = try reader.readSignedVarint()
    default:
      guard let tag = ValueCodec.Tag(rawValue: kind), tag != .map, tag != .counter else {
        throw reader.failure(.malformed, "an entry has an unknown kind")
      }
      _ = try ValueCodec.readContent(tag, &reader, depth: depth)
    }
  }
}

/// The parts of summaries that identify states, summed over the documents of a run.
package struct RunCheck: Hashable, Sendable {
  private var base: UInt64 = 0
  private var result: UInt32 = 0

  package init() {}

  /// Adds a document's step.
  package mutating func add(_ step: WireStep) {
    base = (base &+ step.base) & 0xFFFF_FFFF_FFFF
    result &+= step.result
  }

  /// Adds a document's present state and its intended state.
  package mutating func add(from base: Summary, to result: Summary) {
    add(WireStep(from: base, to: result))
  }

  package func hasSameBase(as other: RunCheck) -> Bool { base == other.base }
  package func hasSameResult(as other: RunCheck) -> Bool { result == other.result }

  package func write(to out: inout ByteWriter) {
    out.writeFixed(UInt16(truncatingIfNeeded: base >> 32))
    out.writeFixed(UInt32(truncatingIfNeeded: base))
    out.writeFixed(result)
  }

  package init(from reader: inout ByteReader) throws(CodecError) {
    let high: UInt16 = try reader.readFixed()
    let low: UInt32 = try reader.readFixed()
    base = UInt64(high) << 32 | UInt64(low)
    result = try reader.readFixed()
  }
}
