/// Converts directly between fresh records and uniform wire documents, in one pass and without a tree.
enum WireTranscoder {
  /// Appends a fresh record's full state; `false`, with nothing appended, for any other record.
  static func append(
    fresh record: borrowing RecordView, tables: RecordTables, to out: inout ByteWriter
  ) throws(CodecError) -> Bool {
    guard record.isFresh, record.isAlive else { return false }
    guard let site = tables.sites[record.baseSite] else {
      throw CodecError(
        .unknownName, "a site ordinal is not in the store's table", at: RecordLayout.baseSiteOffset)
    }
    out.write(WireWriter.aliveFlag | WireWriter.uniformFlag)
    out.writeFixed(record.baseReading.rawValue)
    out.write(site)
    var budget = EntryBudget(record.bytes)
    try append(record.root, tables.keys, depth: 0, &budget, to: &out)
    return true
  }

  private static func append(
    _ node: borrowing MapNode, _ keys: KeyTable, depth: Int, _ budget: inout EntryBudget,
    to out: inout ByteWriter
  ) throws(CodecError) {
    guard depth <= Limits.depth else { throw CodecError(.limit, "a map is nested too deep", at: node.offset) }
    try budget.spend(on: node)
    out.writeVarint(node.count)
    for index in 0..<node.count {
      if node.carriesKeys {
        out.writeBlob(node.inlineKey(index))
      } else {
        let isKnown: Void? = keys.withName(node.keyID(index)) { out.writeBlob($0) }
        guard isKnown != nil else {
          throw CodecError(.unknownName, "a key id is not in the collection's table", at: node.offset)
        }
      }
      let value = ValueRef(node.record, slotAt: node.slotOffset(index))
      switch value.kind {
      case .null: out.write(ValueCodec.Tag.null.rawValue)
      case .bool: out.write(value.bool ? ValueCodec.Tag.yes.rawValue : ValueCodec.Tag.no.rawValue)
      case .int:
        out.write(ValueCodec.Tag.int.rawValue)
        out.writeSignedVarint(value.int)
      case .double:
        out.write(ValueCodec.Tag.double.rawValue)
        out.writeFixed(ValueCodec.canonicalBits(value.double))
      case .string:
        out.write(ValueCodec.Tag.string.rawValue)
        out.writeBlob(value.bytes)
      case .bytes:
        out.write(ValueCodec.Tag.bytes.rawValue)
        out.writeBlob(value.bytes)
      case .array, .attachment: out.write(value.bytes)
      case .counter:
        out.write(WireWriter.counterKind)
        out.writeSignedVarint(value.int)
        out.writeVarint(0)
      case .map:
        out.write(WireWriter.mapKind)
        try append(value.node, keys, depth: depth + 1, &budget, to: &out)
      }
    }
  }

  /// Builds a record from a uniform wire document.
  ///
  /// It returns `nil` for any other document, and for one with a small map whose keys must be in the record
  /// nevertheless.
  static func record(
    fromUniform wire: RawSpan, tables: inout RecordTables
  ) throws(CodecError) -> EncodedDocument? {
    guard wire.byteCount > 0, wire.byte(at: 0) & WireWriter.uniformFlag != 0 else { return nil }
    var reader = ByteReader(wire)
    let stamp = try WireReader.readUniformHead(&reader)
    var assembler = UniformAssembler(stamp: stamp, tables: tables, expecting: wire.byteCount)
    guard let root = try assembler.map(&reader, path: StateHash.root, depth: 0) else { return nil }
    guard reader.isAtEnd else { throw reader.failure(.malformed, "a document has bytes left over") }
    let document = assembler.finish(root: root)
    tables = assembler.tables
    return document
  }
}

/// Assembles a record while reading a uniform wire document.
private struct UniformAssembler {
  var builder: RecordBuilder
  var tables: RecordTables
  private var summary = Summary.zero
  private let stamp: Stamp
  private let stampHash: HashLanes

  /// Begins the record of a document with that many bytes on the wire.
  ///
  /// The record is about as long: ids replace names, and slots are added.
  init(stamp: Stamp, tables: RecordTables, expecting wireBytes: Int) {
    builder = RecordBuilder(expecting: wireBytes + 64)
    self.tables = tables
    self.stamp = stamp
    stampHash = StateHash.stamp(stamp)
  }

  mutating func finish(root: Int) -> EncodedDocument {
    summary.add(StateHash.life(stamp, isAlive: true))
    if stamp.reading > .zero {
      let writer = Writer(site: stamp.site, birth: stamp.reading)
      summary.add(StateHash.included(.init(writer: writer, reading: stamp.reading)))
    }
    let record = builder.finish(
      root: root, base: stamp, isAlive: true, isOwn: false, metadata: [], sites: &tables.sites)
    return EncodedDocument(record: record, summary: summary, isAlive: true)
  }

  /// - Returns: `nil` when not all keys of a small map can have ids, so that they must be in the record;
  ///   this is known only after the node was laid out.
  mutating func map(_ reader: inout ByteReader, path: HashLanes, depth: Int) throws(CodecError) -> Int? {
    guard depth <= Limits.depth else { throw reader.failure(.limit, "a document is nested too deep") }
    let count = try reader.readKeyCount()
    let carriesKeys = count > RecordLayout.idKeys
    let node = builder.beginMap(count: count, carriesKeys: carriesKeys)
    var previous = 0
    for index in 0..<count {
      let start = reader.offset
      let key = try reader.readBlob()
      if index > 0 {
        var before = ByteReader(reader.bytes, offset: previous)
        guard try before.readBlob().compare(key) < 0 else {
          throw CodecError(.malformed, "keys are not in ascending order", at: start)
        }
      }
      previous = start
      let hash: HashLanes
      if carriesKeys {
        guard key.byteCount <= UInt16.max else { throw CodecError(.limit, "a key is too long", at: start) }
        try reader.checkUTF8(key, at: start)
        builder.setKey(key, at: index, of: node)
        hash = HashLanes(key)
      } else {
        var id = tables.keys.id(of: key)
        if id == nil {
          try reader.checkUTF8(key, at: start)
          id = tables.keys.intern(key, nested: depth > 0)
        }
        guard let id else { return nil }
        builder.setKey(id, at: index, of: node)
        hash = tables.keys.hash(of: id)
      }
      guard depth > 0 || !key.isIDKey else { throw CodecError(.malformed, "an _id is no field", at: start) }
      guard let slot = try entry(&reader, path: path.combined(with: hash), depth: depth + 1) else {
        return nil
      }
      builder.setSlot(slot, at: builder.slotOffset(index, of: node, count: count, carriesKeys: carriesKeys))
    }
    return node
  }

  private mutating func entry(_ reader: inout ByteReader, path: HashLanes, depth: Int) throws(CodecError)
    -> UInt64?
  {
    let start = reader.offset
    let kind = try reader.readByte()
    let entry = path.combined(with: stampHash)
    if kind == WireWriter.mapKind {
      summary.add(entry.combined(with: StateHash.map))
      return try map(&reader, path: path, depth: depth).map { builder.mapSlot($0) }
    }
    if kind == WireWriter.counterKind {
      let base = try reader.readSignedVarint()
      guard try reader.readVarint() == 0 else {
        throw CodecError(.malformed, "a uniform document has a counter with increments", at: start)
      }
      summary.add(entry.combined(with: StateHash.bits(UInt64(bitPattern: base), .counter)))
      return builder.intSlot(base, counter: true)
    }
    guard let tag = ValueCodec.Tag(rawValue: kind), tag != .map, tag != .counter else {
      throw CodecError(.malformed, "an entry has an unknown kind", at: start)
    }
    switch tag {
    case .int:
      let value = try reader.readSignedVarint()
      summary.add(entry.combined(with: StateHash.bits(UInt64(bitPattern: value), .int)))
      return builder.intSlot(value)
    case .string:
      let utf8 = try reader.readBlob()
      try reader.checkUTF8(utf8, at: start)
      summary.add(entry.combined(with: StateHash.bytes(utf8, .string)))
      return builder.stringSlot(utf8)
    case .array:
      var rest = reader
      if try ValueCodec.passPlain(tag, &rest, depth: depth) {
        // The bytes are hashed and stored unchanged.
        let bytes = reader.bytes.extracting(start..<rest.offset)
        reader = rest
        summary.add(entry.combined(with: StateHash.bytes(bytes, .array)))
        return builder.heapSlot(.array, bytes)
      }
      return try other(tag, &reader, entry, depth: depth)
    case .double:
      let value = try ValueCodec.readDouble(&reader)
      summary.add(entry.combined(with: StateHash.bits(ValueCodec.canonicalBits(value), .double)))
      return builder.doubleSlot(value)
    case .null, .no, .yes, .bytes, .map, .counter, .attachment:
      return try other(tag, &reader, entry, depth: depth)
    }
  }

  private mutating func other(
    _ tag: ValueCodec.Tag, _ reader: inout ByteReader, _ entry: HashLanes, depth: Int
  ) throws(CodecError) -> UInt64 {
    let value = try ValueCodec.readContent(tag, &reader, depth: depth)
    summary.add(entry.combined(with: StateHash.value(value)))
    return builder.slot(value)
  }
}

extension RawSpan {
  /// Whether these bytes are the key of the document's id, which is not one of its fields.
  var isIDKey: Bool { byteCount == 3 && byte(at: 0) == 0x5F && byte(at: 1) == 0x69 && byte(at: 2) == 0x64 }
}

extension ByteReader {
  fileprivate func checkUTF8(_ bytes: RawSpan, at start: Int) throws(CodecError) {
    guard bytes.isPlainText else {
      throw CodecError(.malformed, "a string is not UTF-8", at: start)
    }
  }
}

extension RawSpan {
  /// Whether the bytes are UTF-8; plain ASCII is recognized eight bytes at a time.
  var isPlainText: Bool {
    var offset = 0
    while byteCount - offset >= 8, word(at: offset) & 0x8080_8080_8080_8080 == 0 { offset += 8 }
    let (low, high) = tail(from: offset)
    if byteCount - offset <= 16, (low | high) & 0x8080_8080_8080_8080 == 0 { return true }
    return isUTF8
  }
}

extension ByteWriter {
  /// A varint length, then the bytes.
  mutating func writeBlob(_ blob: RawSpan) {
    writeVarint(blob.byteCount)
    write(blob)
  }
}
