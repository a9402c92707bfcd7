import CLMDB
import CRDTCore

extension StoreState {
  /// Reads the state as of the last commit.
  init(_ access: PageAccess, _ tables: Tables, _ archive: SiteArchive) throws(StoreError) {
    log = try LogState(access, tables)
    try access.eachSmall(in: tables.collections, "collections") { (key, value) throws(CodecError) in
      let id = try key.readFixed(as: UInt32.self)
      let counts = (try value.readFixed(as: UInt64.self), try value.readFixed(as: UInt64.self))
      let name = try value.readString()
      guard Int(id) == collections.count + 1 else { return false }
      collections.append(CollectionState(id: id, name: name, aliveCount: counts.0, recordCount: counts.1))
      numbers[TextKey(name)] = id
      return true
    }
    try readKeys(access, tables)
    try readSites(access, tables, archive)
    oversizeCount = try access.entryCount(tables.oversize)
    try readIndexes(access, tables)
  }

  private mutating func readKeys(_ access: PageAccess, _ tables: Tables) throws(StoreError) {
    var names: [[String]] = Array(repeating: [], count: collections.count)
    try access.eachSmall(in: tables.keys, "keys") { (key, value) throws(CodecError) in
      let index = Int(try key.readFixed(as: UInt32.self)) - 1
      guard names.indices.contains(index), try key.readFixed(as: UInt16.self) == UInt16(names[index].count)
      else {
        return false
      }
      names[index].append(try value.readString())
      return true
    }
    for (index, names) in names.enumerated() {
      collections[index].keys = KeyTable(names: names)
      collections[index].storedKeys = names.count
    }
  }

  /// Writes additions to the dictionaries, and the counts that changed.
  mutating func flush(_ access: PageAccess, _ tables: Tables) throws(StoreError) {
    for index in collections.indices {
      if collections[index].storedKeys < collections[index].keys.count {
        try flushKeys(at: index, access, tables)
      }
      try flushIndexes(at: index, access, tables)
      guard collections[index].isDirty else { continue }
      var value = ByteWriter()
      value.writeFixed(collections[index].aliveCount)
      value.writeFixed(collections[index].recordCount)
      value.writeString(collections[index].name)
      try SmallRecord.put(value.bytes, at: Self.key(collections[index].id), in: tables.collections, access)
      collections[index].isDirty = false
    }
  }

  private mutating func flushKeys(at index: Int, _ access: PageAccess, _ tables: Tables) throws(StoreError) {
    for id in collections[index].storedKeys..<collections[index].keys.count {
      guard let name = collections[index].keys.name(of: UInt16(id)) else { continue }
      var key = ByteWriter()
      key.writeFixed(collections[index].id)
      key.writeFixed(UInt16(id))
      var value = ByteWriter()
      value.writeString(name)
      try SmallRecord.put(value.bytes, at: key.bytes, in: tables.keys, access)
    }
    collections[index].storedKeys = collections[index].keys.count
    isCatalogueStale = true
  }

  static func key(_ number: UInt32) -> [UInt8] {
    var key = ByteWriter()
    key.writeFixed(number)
    return key.bytes
  }
}

extension LogState {
  private static let key = Array("log".utf8)

  /// Reads the log's position as of the last commit; a new store has none.
  init(_ access: PageAccess, _ tables: Tables) throws(StoreError) {
    let stored = try access.small(Self.key, in: tables.meta, "meta") { reader throws(CodecError) in
      try LogState(&reader)
    }
    self = stored ?? LogState()
  }

  init(_ reader: inout ByteReader) throws(CodecError) {
    sequence = try reader.readFixed()
    commitID = try reader.readFixed()
    evictionEpoch = try reader.readFixed()
    clock = HybridClock(latest: ClockReading(rawValue: try reader.readFixed()))
    lived = LivedTime(now: try reader.readFixed(), wall: try reader.readFixed())
    lastNumber = DocumentNumber(try reader.readFixed())
    logStart = try reader.readFixed()
    sites = try SiteCounts(&reader)
  }

  func write(_ access: PageAccess, _ tables: Tables) throws(StoreError) {
    var value = ByteWriter(capacity: 96)
    value.writeFixed(sequence)
    value.writeFixed(commitID)
    value.writeFixed(evictionEpoch)
    value.writeFixed(clock.latest.rawValue)
    value.writeFixed(lived.now)
    value.writeFixed(lived.wall)
    value.writeFixed(lastNumber.rawValue)
    value.writeFixed(logStart)
    sites.write(to: &value)
    try SmallRecord.put(value.bytes, at: Self.key, in: tables.meta, access)
  }
}

extension PageAccess {
  /// Visits all entries of a small table in order, or those with keys of `keyBytes` bytes.
  ///
  /// `body` returns `false` for an entry that cannot be valid.
  func eachSmall(
    in table: MDB_dbi, _ name: String, keyBytes: Int? = nil,
    _ body: (inout ByteReader, inout ByteReader) throws(CodecError) -> Bool
  ) throws(StoreError) {
    do {
      try scan(table, from: [UInt8]().rawBytes) { key, stored in
        if let keyBytes, key.byteCount != keyBytes { return true }
        let bytes = try SmallRecord.open(stored, at: key, table: name)
        var keyReader = ByteReader(key)
        var value = ByteReader(bytes.rawBytes)
        guard try body(&keyReader, &value) else { throw SmallRecord.damaged(name) }
        return true
      }
    } catch let error as StoreError {
      throw error
    } catch {
      throw SmallRecord.damaged(name)
    }
  }

  /// The number of entries of `table`.
  func entryCount(_ table: MDB_dbi) throws(StoreError) -> Int {
    if let snapshot = reading { return snapshot.roots[StoreTable(table)].entries }
    var stat = MDB_stat()
    // SAFETY: the call fills the local structure.
    try StoreError.check(unsafe mdb_stat(handle, table, &stat), "mdb_stat")
    return stat.ms_entries
  }
}
