/// The result of an encoder, for the store.
package struct EncodedDocument: Sendable {
  package var record: [UInt8]
  package var summary: Summary
  package var isAlive: Bool
}

/// Encodes a new document, whose entries all have one stamp, directly from its fields.
struct FreshEncoder {
  private var builder: RecordBuilder
  private var tables: RecordTables
  private var summary = Summary.zero
  private let stamp: Stamp
  private let stampHash: HashLanes

  private init(tables: RecordTables, stamp: Stamp) {
    builder = RecordBuilder()
    self.tables = tables
    self.stamp = stamp
    stampHash = StateHash.stamp(stamp)
  }

  /// Encodes `fields`, all with the transaction's stamp, or with zero for default data.
  static func encode(
    _ fields: [TextKey: Value], stamp: Stamp, tables: inout RecordTables
  ) throws(DocumentError) -> EncodedDocument {
    var encoder = FreshEncoder(tables: tables, stamp: stamp)
    let root = try encoder.write(fields, path: StateHash.root, depth: 0)
    let isDefault = stamp.reading == .zero
    encoder.summary.add(StateHash.life(stamp, isAlive: true))
    if !isDefault {
      let writer = Writer(site: stamp.site, birth: stamp.reading)
      encoder.summary.add(StateHash.included(.init(writer: writer, reading: stamp.reading)))
    }
    let record = encoder.builder.finish(
      root: root, base: stamp, isAlive: true, isOwn: !isDefault, metadata: [], sites: &encoder.tables.sites)
    tables = encoder.tables
    return EncodedDocument(record: record, summary: encoder.summary, isAlive: true)
  }

  private struct Field {
    var rank: UInt16
    var id: UInt16
    var value: Value
  }

  private mutating func write(
    _ fields: [TextKey: Value], path: HashLanes, depth: Int
  ) throws(DocumentError) -> Int {
    let expected = depth == 0 && fields["_id"] != nil ? fields.count - 1 : fields.count
    guard expected <= RecordLayout.idKeys, var sorted = intern(fields, depth: depth) else {
      return try writeWithKeys(fields, path: path, depth: depth)
    }
    for index in sorted.indices { sorted[index].rank = tables.keys.rank(of: sorted[index].id) }
    sorted.sort { $0.rank < $1.rank }
    let node = builder.beginMap(count: sorted.count, carriesKeys: false)
    for index in sorted.indices {
      let id = sorted[index].id
      builder.setKey(id, at: index, of: node)
      let path = path.combined(with: tables.keys.hash(of: id))
      let slot = try write(sorted[index].value, path: path, depth: depth + 1)
      builder.setSlot(slot, at: builder.slotOffset(index, of: node, count: sorted.count, carriesKeys: false))
    }
    return node
  }

  /// Returns the fields with their keys' ids; `nil` when a key cannot get one.
  private mutating func intern(_ fields: [TextKey: Value], depth: Int) -> [Field]? {
    var known: [Field] = []
    known.reserveCapacity(fields.count)
    var unknown: [(key: TextKey, value: Value)] = []
    for (key, value) in fields where depth > 0 || key != "_id" {
      if let id = tables.keys.id(of: key) {
        known.append(Field(rank: 0, id: id, value: value))
      } else {
        unknown.append((key, value))
      }
    }
    // A dictionary's order differs from run to run; the ids must not.
    unknown.sort { $0.key < $1.key }
    for (key, value) in unknown {
      guard let id = tables.keys.intern(key, nested: depth > 0) else { return nil }
      known.append(Field(rank: 0, id: id, value: value))
    }
    return known
  }

  private mutating func writeWithKeys(
    _ fields: [TextKey: Value], path: HashLanes, depth: Int
  ) throws(DocumentError) -> Int {
    let sorted = fields.filter { depth > 0 || $0.key != "_id" }.sorted { $0.key < $1.key }
    let node = builder.beginMap(count: sorted.count, carriesKeys: true)
    for (index, (key, value)) in sorted.enumerated() {
      let utf8 = Array(key.utf8)
      guard utf8.count <= UInt16.max else {
        throw DocumentError(
          .invalidPath, "a key takes \(utf8.count) bytes, at most \(UInt16.max) are allowed")
      }
      builder.setKey(utf8.span.bytes, at: index, of: node)
      let slot = try write(value, path: path.combined(with: HashLanes(key)), depth: depth + 1)
      builder.setSlot(slot, at: builder.slotOffset(index, of: node, count: sorted.count, carriesKeys: true))
    }
    return node
  }

  private mutating func write(_ value: Value, path: HashLanes, depth: Int) throws(DocumentError) -> UInt64 {
    let entry = path.combined(with: stampHash)
    if case .map(let fields) = value {
      guard depth <= Limits.depth else {
        throw DocumentError(.depth, "values are nested deeper than \(Limits.depth)")
      }
      summary.add(entry.combined(with: StateHash.map))
      return builder.mapSlot(try write(fields, path: path, depth: depth))
    }
    summary.add(entry.combined(with: StateHash.value(value)))
    return builder.slot(value)
  }
}

extension Value {
  /// Whether this is a counter, or a map with one in it.
  var holdsCounter: Bool {
    switch self {
    case .counter: true
    case .map(let fields): fields.values.contains { $0.holdsCounter }
    case .null, .bool, .int, .double, .string, .bytes, .array, .attachment, .decimal: false
    }
  }

  /// Refuses what no record can hold.
  ///
  /// That is nesting beyond the limit, maps with too many keys, and counters inside arrays.
  package func checked(depth: Int = 1, inArray: Bool = false) throws(DocumentError) {
    switch self {
    case .array(let values):
      guard depth <= Limits.depth else {
        throw DocumentError(.depth, "values are nested deeper than \(Limits.depth)")
      }
      for value in values { try value.checked(depth: depth + 1, inArray: true) }
    case .map(let fields):
      guard depth <= Limits.depth else {
        throw DocumentError(.depth, "values are nested deeper than \(Limits.depth)")
      }
      guard fields.count <= Limits.keysPerMap else { throw .tooManyKeys }
      for (key, value) in fields {
        guard key.utf8.count <= UInt16.max else {
          throw DocumentError(.invalidPath, "a key takes more than \(UInt16.max) bytes")
        }
        try value.checked(depth: depth + 1, inArray: inArray)
      }
    case .counter:
      guard !inArray else { throw DocumentError(.notACounter, "an array cannot hold a counter") }
    case .null, .bool, .int, .double, .string, .bytes, .attachment, .decimal: return
    }
  }
}
