/// One document's record, read in place: every access is bounds-checked, and none traps.
public struct RecordView: ~Escapable {
  package let bytes: RawSpan

  @_lifetime(copy bytes)
  public init(_ bytes: RawSpan) { self.bytes = bytes }

  public var byteCount: Int { bytes.byteCount }

  private var flags: UInt8 { bytes.load(RecordLayout.flagsOffset) }

  /// Whether the document is alive; a deleted document's record is its tombstone.
  public var isAlive: Bool { flags & RecordLayout.aliveFlag != 0 }

  /// Whether every entry has one stamp, so that the record has no merge metadata.
  var isFresh: Bool { flags & RecordLayout.metadataFlag == 0 }

  var isOwn: Bool { flags & RecordLayout.ownFlag != 0 }

  var baseReading: ClockReading { ClockReading(rawValue: bytes.load(RecordLayout.baseReadingOffset)) }

  /// Whether most of the document is default data, which no version vector covers.
  package var isDefault: Bool { baseReading == .zero }

  var baseSite: UInt32 { bytes.load(RecordLayout.baseSiteOffset) }

  var metadataOffset: Int { Int(bytes.load(RecordLayout.metadataOffset, as: UInt32.self)) }

  /// The number of bytes before the metadata that nothing refers to.
  var deadBytes: Int { Int(bytes.load(RecordLayout.deadOffset, as: UInt16.self)) }

  var root: MapNode {
    @_lifetime(copy self)
    @inline(__always)
    get { MapNode(bytes, at: Int(bytes.load(RecordLayout.rootOffset, as: UInt32.self))) }
  }

  var metadata: RawSpan {
    @_lifetime(copy self)
    get {
      let offset = metadataOffset
      return bytes.clipped(offset, bytes.byteCount - offset)
    }
  }

  /// Whether the bytes are a record of a known version with a correct checksum.
  public func verify() -> Bool {
    bytes.byteCount >= RecordLayout.headerBytes && bytes.byte(at: 0) == RecordLayout.version
      && bytes.load(RecordLayout.checksumOffset, as: UInt32.self) == RecordChecksum.of(bytes)
  }

  /// Returns the value at a path that was resolved with a table at least as new as this record.
  ///
  /// - Returns: `nil` when the document has nothing there; `_id` is the store's key and not in the record.
  /// - Complexity: O(*k*) in the keys of each map on the way, O(log *k*) for large maps.
  @_lifetime(copy self)
  public func value(at path: borrowing ResolvedPath) -> ValueRef? {
    let root = root
    if path.isSole, !root.carriesKeys {
      guard let offset = root.slotOffset(ofID: path.soleID) else { return nil }
      return ValueRef(bytes, slotAt: offset)
    }
    return value(at: path, from: root)
  }

  @_lifetime(copy self)
  private func value(at path: borrowing ResolvedPath, from root: consuming MapNode) -> ValueRef? {
    var node = root
    let last = path.components.count - 1
    for index in 0...max(last, 0) where index <= last {
      guard case .key(let name) = path.components[index] else { return nil }
      guard let offset = slotOffset(of: name, id: path.ids[index], in: node) else { return nil }
      let value = ValueRef(bytes, slotAt: offset)
      if index == last { return value }
      guard value.kind == .map else { return nil }
      node = value.node
    }
    return nil
  }

  private func slotOffset(of name: TextKey, id: UInt16, in node: borrowing MapNode) -> Int? {
    if !node.carriesKeys { return node.slotOffset(ofID: id) }
    let utf8 = Array(name.utf8)
    return node.index(ofName: utf8.span.bytes).map { node.slotOffset($0) }
  }

  /// Returns all fields without `_id`, as owned values.
  ///
  /// - Throws: A `CodecError` when the record is damaged or `keys` is too old for it.
  /// - Complexity: O(*n*) in the record's size.
  public func fields(_ keys: KeyTable) throws(CodecError) -> [TextKey: Value] {
    var budget = EntryBudget(bytes)
    return try root.fields(keys, depth: 0, &budget)
  }
}

/// One document's record with its own memory.
public struct Record: Hashable, Sendable {
  public let bytes: [UInt8]

  public init(bytes: [UInt8]) { self.bytes = bytes }

  /// Calls `body` with a view of the bytes.
  public func withView<R, E: Error>(_ body: (borrowing RecordView) throws(E) -> R) throws(E) -> R {
    try body(RecordView(bytes.span.bytes))
  }
}
