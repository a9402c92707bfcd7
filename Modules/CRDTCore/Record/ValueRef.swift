/// A value in place inside a record; it is read without decoding or allocation.
public struct ValueRef: ~Escapable {
  public enum Kind: UInt8, Sendable {
    case null, bool, int, double, string, bytes, array, map, counter, attachment
  }

  /// Tags are compared as numbers here, which needs no call to check whether the tag is valid.
  private typealias Tag = RecordLayout.Tag

  private let record: RawSpan
  private let slotOffset: Int
  let slot: UInt64
  public let kind: Kind

  /// Makes the value of a slot; a slot of unknown type reads as null.
  @_lifetime(copy record)
  @inline(__always)
  init(_ record: RawSpan, slotAt offset: Int) {
    self.record = record
    slotOffset = offset
    slot = record.load(offset)
    kind = Self.kind(ofTag: slot & 0xFF)
  }

  /// The kinds of tags 0 to 14, four bits each from the lowest; a shift is faster than a branch.
  private static var kinds: UInt64 { 0x988_7654_4332_2110 }

  @inline(__always)
  private static func kind(ofTag tag: UInt64) -> Kind {
    let kind = tag < 16 ? UInt8(truncatingIfNeeded: kinds &>> (tag &* 4)) & 0xF : 0
    // SAFETY: the word holds numbers from 0 to 9, the raw values of the cases in their order.
    return unsafe unsafeBitCast(kind, to: Kind.self)
  }

  var tag: UInt8 { UInt8(truncatingIfNeeded: slot) }
  var heapOffset: Int { Int((slot >> 8) & 0xFFFF_FFFF) }

  /// The boolean; false for other kinds.
  public var bool: Bool { tag == RecordLayout.Tag.yes.rawValue }

  /// The integer, or a counter's sum; zero for other kinds.
  public var int: Int64 {
    switch tag {
    case Tag.int.rawValue, Tag.counter.rawValue: Int64(bitPattern: slot) >> 8
    case Tag.wideInt.rawValue, Tag.wideCounter.rawValue: record.load(heapOffset)
    default: 0
    }
  }

  /// The floating-point number; zero for other kinds.
  public var double: Double {
    switch tag {
    case Tag.shortDouble.rawValue: Double(Float(bitPattern: UInt32(truncatingIfNeeded: slot >> 8)))
    case Tag.double.rawValue: Double(bitPattern: record.load(heapOffset))
    default: 0
    }
  }

  /// A string's UTF-8, the bytes of a byte value, or the canonical encoding of an array or attachment.
  public var bytes: RawSpan {
    @_lifetime(copy self)
    get {
      switch tag {
      case Tag.shortString.rawValue: record.clipped(slotOffset + 2, Int((slot >> 8) & 0xFF))
      case Tag.string.rawValue, Tag.bytes.rawValue, Tag.array.rawValue, Tag.attachment.rawValue: heapBytes
      default: record.extracting(0..<0)
      }
    }
  }

  /// Whether the value is eight bytes in the heap.
  @inline(__always)
  var isWord: Bool {
    switch tag {
    case Tag.wideInt.rawValue, Tag.double.rawValue, Tag.wideCounter.rawValue: true
    default: false
    }
  }

  var heapWord: UInt64 { record.load(heapOffset) }

  /// The range of the value's bytes in the heap; empty for a value in its slot, or a map.
  @inline(__always)
  var heapRange: (offset: Int, count: Int) {
    switch tag {
    case Tag.wideInt.rawValue, Tag.double.rawValue, Tag.wideCounter.rawValue: (heapOffset, 8)
    case Tag.string.rawValue, Tag.bytes.rawValue, Tag.array.rawValue, Tag.attachment.rawValue:
      (heapOffset, Int(slot >> 40))
    default: (0, 0)
    }
  }

  private var heapBytes: RawSpan {
    @_lifetime(copy self)
    get {
      let length = slot >> 40
      if length < RecordLayout.longLength { return record.clipped(heapOffset, Int(length)) }
      return record.clipped(heapOffset + 4, Int(record.load(heapOffset, as: UInt32.self)))
    }
  }

  /// The map of a value of kind `map`; empty for other kinds.
  var node: MapNode {
    @_lifetime(copy self)
    get { MapNode(record, at: kind == .map ? heapOffset : 0) }
  }

  /// Returns the value as an owned tree.
  ///
  /// - Throws: A `CodecError` when the record is damaged or `keys` is too old for it.
  /// - Complexity: O(*n*) in the value's size.
  public func materialize(_ keys: KeyTable) throws(CodecError) -> Value {
    var budget = EntryBudget(record)
    return try materialize(keys, depth: 0, &budget)
  }

  func materialize(_ keys: KeyTable, depth: Int, _ budget: inout EntryBudget) throws(CodecError) -> Value {
    switch kind {
    case .null: return .null
    case .bool: return .bool(bool)
    case .int: return .int(int)
    case .double: return .double(double)
    case .counter: return .counter(int)
    case .string:
      guard let string = bytes.text else {
        throw CodecError(.malformed, "a string is not UTF-8", at: slotOffset)
      }
      return .string(string)
    case .bytes: return .bytes(unsafe bytes.withUnsafeBytes { unsafe Array($0) })
    case .array, .attachment:
      var reader = ByteReader(bytes)
      return try ValueCodec.read(&reader)
    case .map: return .map(try node.fields(keys, depth: depth + 1, &budget))
    }
  }
}

extension MapNode {
  func fields(
    _ keys: KeyTable, depth: Int, _ budget: inout EntryBudget
  ) throws(CodecError) -> [TextKey: Value] {
    guard depth <= Limits.depth else { throw CodecError(.limit, "a map is nested too deep", at: offset) }
    try budget.spend(on: self)
    var fields = [TextKey: Value](minimumCapacity: count)
    for index in 0..<count {
      let name = try name(index, keys)
      fields[name] = try ValueRef(record, slotAt: slotOffset(index)).materialize(keys, depth: depth, &budget)
    }
    return fields
  }
}
