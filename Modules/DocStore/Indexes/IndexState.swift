import CLMDB
import CRDTCore

/// The writer's record of an index.
struct IndexState: Sendable {
  /// The phase of an index's life.
  enum Phase: Hashable, Sendable {
    /// Documents with numbers below `next` have their rows, the others have none yet.
    case building(next: DocumentNumber)
    case ready
    /// No transaction can use it any longer; its rows are being removed.
    case dropping
  }

  let number: UInt32
  let definition: IndexDefinition
  var phase: Phase
  var rowCount: UInt64 = 0
  /// `nil` before the rows were examined, and if there are few rows.
  var statistics: IndexStatistics?
  /// The number of rows added and removed since then, as far as known.
  var changeCount: UInt64 = 0
  /// The change count in the table of indexes.
  private(set) var storedChanges: UInt64 = 0
  /// Whether the table of indexes lacks the present state.
  var isDirty = true

  /// The public description; `nil` for a dropped index.
  var info: IndexInfo? {
    let state: IndexInfo.State
    switch phase {
    case .building: state = .building
    case .ready: state = .ready
    case .dropping: return nil
    }
    return IndexInfo(
      number: number, definition: definition, state: state, rowCount: Int(clamping: rowCount),
      statistics: statistics)
  }

  /// Whether the rows should be examined again; statistics need at least `minimum` rows.
  func isStale(minimum: Int) -> Bool {
    guard phase == .ready else { return false }
    guard let statistics else { return rowCount >= UInt64(max(minimum, 1)) }
    return changeCount > UInt64(statistics.rowCount) / Self.staleFraction
  }

  /// Statistics are stale when one in this many rows has changed.
  private static let staleFraction: UInt64 = 5

  /// Records that rows were added and removed.
  mutating func note(rowDelta: Int64, changes: UInt64) {
    rowCount = UInt64(max(Int64(clamping: rowCount) + rowDelta, 0))
    changeCount += changes
    // Closing the store may lose some of the count, which is harmless.
    if rowDelta != 0 || changeCount - min(storedChanges, changeCount) > rowCount / 64 { isDirty = true }
  }

  /// Records new statistics.
  mutating func note(_ statistics: IndexStatistics?) {
    self.statistics = statistics
    (changeCount, storedChanges, isDirty) = (0, 0, true)
  }

  /// Records that the table of indexes has the present state.
  mutating func noteStored() { (storedChanges, isDirty) = (changeCount, false) }

  /// Whether a living document with this number has a row in the index.
  func covers(_ number: DocumentNumber) -> Bool {
    switch phase {
    case .building(let next): number < next
    case .ready: true
    case .dropping: false
    }
  }
}

// MARK: - On disk

extension IndexState {
  private static let dropping: UInt8 = 2

  static func key(_ number: UInt32) -> [UInt8] {
    var key = ByteWriter(capacity: 4)
    key.writeFixed(number)
    return key.bytes
  }

  func encode(collection: UInt32) -> [UInt8] {
    var writer = ByteWriter(capacity: 64)
    switch phase {
    case .building: writer.write(IndexInfo.State.building.rawValue)
    case .ready: writer.write(IndexInfo.State.ready.rawValue)
    case .dropping: writer.write(Self.dropping)
    }
    writer.writeFixed(collection)
    writer.writeFixed(rowCount)
    writer.writeString(definition.name)
    writer.writeVarint(definition.fields.count)
    for field in definition.fields {
      writer.write(field.part.rawValue << 1 | (field.isDescending ? 1 : 0))
      writer.writeVarint(field.path.count)
      for key in field.path { writer.writeString(key.text) }
    }
    switch phase {
    case .building(let next): writer.writeVarint(next.rawValue)
    case .ready: if changeCount > 0 { writer.writeVarint(changeCount) }
    case .dropping: break
    }
    return writer.bytes
  }

  /// Reads an entry of the table of indexes; `collection` returns the name of a collection's number.
  init(_ key: inout ByteReader, _ value: inout ByteReader, collection: (UInt32) -> String?) throws(CodecError)
  {
    number = try key.readFixed()
    let phase = try value.readByte()
    guard let collection = collection(try value.readFixed()) else {
      throw value.failure(.malformed, "an index has no collection")
    }
    rowCount = try value.readFixed()
    let name = try value.readString()
    var fields: [IndexField] = []
    for _ in 0..<(try value.readCount(minimumBytes: 3)) {
      let flags = try value.readByte()
      guard let part = IndexField.Part(rawValue: flags >> 1) else {
        throw value.failure(.malformed, "an index is of something unknown")
      }
      var path: [TextKey] = []
      for _ in 0..<(try value.readCount()) { path.append(TextKey(try value.readString())) }
      fields.append(IndexField(path, part: part, descending: flags & 1 != 0))
    }
    definition = IndexDefinition(name: name, collection: collection, fields: fields)
    switch phase {
    case IndexInfo.State.building.rawValue:
      self.phase = .building(next: DocumentNumber(try value.readVarint()))
    case IndexInfo.State.ready.rawValue:
      self.phase = .ready
      changeCount = value.isAtEnd ? 0 : try value.readVarint()
      storedChanges = changeCount
    case Self.dropping: self.phase = .dropping
    default: throw value.failure(.malformed, "an index is in an unknown state")
    }
    isDirty = false
  }
}

extension StoreState {
  private static let lastIndexKey = Array("indexes".utf8)

  /// Reads the list of indexes; the collections must be known.
  mutating func readIndexes(_ access: PageAccess, _ tables: Tables) throws(StoreError) {
    let last = try access.small(Self.lastIndexKey, in: tables.meta, "meta") { reader throws(CodecError) in
      try reader.readFixed(as: UInt32.self)
    }
    lastIndex = last ?? 0
    for (collection, index) in try access.indexes(tables, names: collections.map(\.name)) {
      collections[collection].indexes.append(index)
    }
    for collection in collections.indices {
      for place in collections[collection].indexes.indices {
        let index = collections[collection].indexes[place]
        collections[collection].indexes[place].statistics = try access.statistics(of: index, tables)
      }
    }
  }

  /// Draws the number of a new index.
  mutating func drawIndexNumber(_ access: PageAccess, _ tables: Tables) throws(StoreError) -> UInt32 {
    lastIndex += 1
    try SmallRecord.put(IndexState.key(lastIndex), at: Self.lastIndexKey, in: tables.meta, access)
    return lastIndex
  }

  /// Writes the definitions that changed, with their row counts.
  mutating func flushIndexes(at index: Int, _ access: PageAccess, _ tables: Tables) throws(StoreError) {
    for place in collections[index].indexes.indices where collections[index].indexes[place].isDirty {
      let state = collections[index].indexes[place]
      try SmallRecord.put(
        state.encode(collection: collections[index].id), at: IndexState.key(state.number), in: tables.indexes,
        access)
      collections[index].indexes[place].noteStored()
    }
  }

  /// The position of an index: that of its collection, and its own in the collection's list.
  func place(ofIndex number: UInt32) -> (collection: Int, index: Int)? {
    for (position, collection) in collections.enumerated() {
      if let index = collection.indexes.firstIndex(where: { $0.number == number }) {
        return (position, index)
      }
    }
    return nil
  }
}

extension PageAccess {
  /// All indexes on these pages, each with its collection's position in `names`.
  func indexes(_ tables: Tables, names: [String]) throws(StoreError) -> [(collection: Int, index: IndexState)]
  {
    var found: [(Int, IndexState)] = []
    // The statistics of an index are stored behind its definition.
    try eachSmall(in: tables.indexes, "indexes", keyBytes: 4) { (key, value) throws(CodecError) in
      var position = 0
      let index = try IndexState(&key, &value) { number in
        guard number >= 1, Int(number) <= names.count else { return nil }
        position = Int(number) - 1
        return names[position]
      }
      found.append((position, index))
      return true
    }
    return found
  }

  /// The statistics of an index; `nil` if there are none, or if they are damaged: then they are renewed.
  func statistics(of index: IndexState, _ tables: Tables) throws(StoreError) -> IndexStatistics? {
    do throws(StoreError) {
      return try small(IndexStatistics.key(index.number), in: tables.indexes, "indexes") {
        (reader) throws(CodecError) in
        try IndexStatistics(&reader, of: index.definition)
      }
    } catch  where error.code == .corrupt {
      return nil
    }
  }
}
