/// A value other than a map, encoded for a slot, with its hash.
struct SlotContent: ~Escapable, BitwiseCopyable {
  enum Place {
    /// The whole value is in the slot.
    case slot
    /// Eight bytes in the heap.
    case word
    /// Any number of bytes in the heap.
    case bytes
  }

  let place: Place
  let tag: RecordLayout.Tag
  /// The slot, or the eight bytes.
  let word: UInt64
  let bytes: RawSpan
  let hash: HashLanes

  @_lifetime(immortal)
  @inline(__always)
  init(_ tag: RecordLayout.Tag, slot: UInt64, hash: HashLanes) {
    (place, self.tag, word, self.hash) = (.slot, tag, slot, hash)
    bytes = RawSpan()
  }

  @_lifetime(immortal)
  @inline(__always)
  private init(_ tag: RecordLayout.Tag, heap word: UInt64, hash: HashLanes) {
    (place, self.tag, self.word, self.hash) = (.word, tag, word, hash)
    bytes = RawSpan()
  }

  @_lifetime(copy bytes)
  init(_ tag: RecordLayout.Tag, bytes: RawSpan, hash: HashLanes) {
    (place, self.tag, word, self.hash) = (.bytes, tag, 0, hash)
    self.bytes = bytes
  }

  @_lifetime(immortal)
  @inline(__always)
  init(int value: Int64) { self.init(value, .int, .wideInt, StateHash.bits(UInt64(bitPattern: value), .int)) }

  /// Makes a counter whose sum is `sum`; its hash must be that of its base, which is not known here.
  @_lifetime(immortal)
  init(counter sum: Int64, hash: HashLanes) { self.init(sum, .counter, .wideCounter, hash) }

  @_lifetime(immortal)
  @inline(__always)
  private init(_ value: Int64, _ tag: RecordLayout.Tag, _ wide: RecordLayout.Tag, _ hash: HashLanes) {
    if (value << 8) >> 8 == value {
      self.init(tag, slot: UInt64(tag.rawValue) | UInt64(bitPattern: value << 8), hash: hash)
    } else {
      self.init(wide, heap: UInt64(bitPattern: value), hash: hash)
    }
  }

  @_lifetime(immortal)
  init(double value: Double) {
    let bits = ValueCodec.canonicalBits(value)
    let hash = StateHash.bits(bits, .double)
    let short = Float(value)
    if Double(short) == value {
      let tag = RecordLayout.Tag.shortDouble
      self.init(tag, slot: UInt64(tag.rawValue) | UInt64(short.bitPattern) << 8, hash: hash)
    } else {
      self.init(.double, heap: bits, hash: hash)
    }
  }

  @_lifetime(immortal)
  init(bool value: Bool) {
    let tag: RecordLayout.Tag = value ? .yes : .no
    self.init(tag, slot: UInt64(tag.rawValue), hash: StateHash.bits(value ? 1 : 0, .no))
  }

  @_lifetime(immortal)
  init(null: Void) { self.init(.null, slot: 0, hash: StateHash.bits(0, .null)) }

  @_lifetime(copy utf8)
  init(string utf8: RawSpan) {
    let hash = StateHash.bytes(utf8, .string)
    if utf8.byteCount <= 6 {
      let tag = RecordLayout.Tag.shortString
      let word = utf8.tail(from: 0).0
      self.init(tag, slot: UInt64(tag.rawValue) | UInt64(utf8.byteCount) << 8 | word << 16, hash: hash)
    } else {
      self.init(.string, bytes: utf8, hash: hash)
    }
  }
}

extension SlotContent {
  /// Calls `body` with the content of a value.
  ///
  /// It does not call `body` for a map or a counter, which are more than a slot.
  static func with<R>(_ value: Value, _ body: (borrowing SlotContent) -> R?) -> R? {
    switch value {
    case .null: return body(SlotContent(null: ()))
    case .bool(let value): return body(SlotContent(bool: value))
    case .int(let value): return body(SlotContent(int: value))
    case .double(let value): return body(SlotContent(double: value))
    case .string(let value):
      var value = value
      return value.withUTF8 { unsafe body(SlotContent(string: RawSpan(_unsafeElements: $0))) }
    case .decimal(let value): return with(.string(value.text), body)
    case .bytes(let value):
      let span = value.span.bytes
      return body(SlotContent(.bytes, bytes: span, hash: StateHash.bytes(span, .bytes)))
    case .array, .attachment:
      var writer = ByteWriter()
      ValueCodec.write(value, to: &writer)
      let tag: RecordLayout.Tag = if case .attachment = value { .attachment } else { .array }
      let span = writer.bytes.span.bytes
      return body(SlotContent(tag, bytes: span, hash: StateHash.bytes(span, .array)))
    case .map, .counter: return nil
    }
  }
}

extension ValueRef {
  /// The hash of a value that is neither a map nor a counter, as summaries use it.
  var stateHash: HashLanes {
    switch kind {
    case .null: StateHash.bits(0, .null)
    case .bool: StateHash.bits(bool ? 1 : 0, .no)
    case .int: StateHash.bits(UInt64(bitPattern: int), .int)
    case .double: StateHash.bits(ValueCodec.canonicalBits(double), .double)
    case .string: StateHash.bytes(bytes, .string)
    case .bytes: StateHash.bytes(bytes, .bytes)
    case .array, .attachment: StateHash.bytes(bytes, .array)
    case .counter, .map: StateHash.bits(UInt64(bitPattern: int), .counter)
    }
  }
}
