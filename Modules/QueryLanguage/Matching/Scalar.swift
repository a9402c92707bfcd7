public import CRDTCore
import Failpoints

/// A value while a program runs, without memory of its own: a number, or the location of bytes.
@usableFromInline
package struct Scalar: BitwiseCopyable, Sendable {
  @usableFromInline
  enum Kind: UInt8, BitwiseCopyable, Sendable {
    case missing, null, bool, int, double, counter, string, bytes, array, object, attachment,
      decimal
  }

  /// The memory that contains a value's bytes.
  enum Place: UInt8 {
    case none, record, id, constants, scratch
    /// A whole value, in the list of those that a row has made.
    case box
    /// A whole value, in the program's list.
    case constantBox
  }

  @usableFromInline let kind: Kind
  let place: Place
  /// The bits of a number or a truth value, the offset and count of bytes, or the index of a box.
  @usableFromInline let word: UInt64

  private init(_ kind: Kind, _ word: UInt64 = 0, in place: Place = .none) {
    self.kind = kind
    self.place = place
    self.word = word
  }

  static let missing = Scalar(.missing)
  static let null = Scalar(.null)

  init(_ flag: Bool) { self.init(.bool, flag ? 1 : 0) }
  init(_ number: Int64, kind: Kind = .int) { self.init(kind, UInt64(bitPattern: number)) }
  init(_ number: Double) { self.init(.double, number.bitPattern) }

  /// Bytes: a string's, a byte value's, or the canonical encoding of an array.
  init(_ kind: Kind, _ range: Range<Int>, in place: Place) {
    self.init(kind, UInt64(range.lowerBound) << 32 | UInt64(range.count), in: place)
  }

  /// A whole value; `kind` is its kind.
  init(_ kind: Kind, box: Int, in place: Place = .box) { self.init(kind, UInt64(box), in: place) }

  @inlinable var bool: Bool { word != 0 }
  @inlinable var int: Int64 { Int64(bitPattern: word) }
  @inlinable var double: Double { Double(bitPattern: word) }
  var box: Int { Int(word) }
  var range: Range<Int> {
    let start = Int(word >> 32)
    return start..<start + Int(word & 0xFFFF_FFFF)
  }

  var isMissing: Bool { kind == .missing }
  var isNull: Bool { kind == .null }
  var isTrue: Bool { kind == .bool && bool }
  var isFalse: Bool { kind == .bool && !bool }
  var isBoxed: Bool { place == .box || place == .constantBox }

  /// An integer's value, or a counter's.
  var wholeNumber: Int64? { kind == .int || kind == .counter ? int : nil }

  var valueClass: SortOrder.Class {
    switch kind {
    case .missing: .missing
    case .null: .null
    case .bool: .boolean
    case .int, .double, .counter: .number
    case .string: .string
    case .bytes: .binary
    case .array: .array
    case .object: .object
    case .attachment: .attachment
    case .decimal: .decimal
    }
  }

  /// The value, if it is stored here completely: a number, a truth value, or null; otherwise `nil`.
  ///
  /// It is also `nil` for MISSING.
  @inlinable package var plainValue: Value? {
    switch kind {
    case .null: .null
    case .bool: .bool(bool)
    case .int: .int(int)
    case .double: .double(double)
    case .counter: .counter(int)
    case .missing, .string, .bytes, .array, .object, .attachment, .decimal: nil
    }
  }

  @inlinable package var isPlain: Bool {
    switch kind {
    case .missing, .null, .bool, .int, .double, .counter: true
    case .string, .bytes, .array, .object, .attachment, .decimal: false
    }
  }

  /// The order of two numbers or truth values, by ``SortOrder``; zero if they are equal.
  static func comparePlain(_ left: Scalar, _ right: Scalar) -> Int {
    switch (left.kind, right.kind) {
    case (.double, .double): return SortOrder.compare(left.double, right.double)
    case (.double, _): return -SortOrder.compare(right.int, left.double)
    case (_, .double): return SortOrder.compare(left.int, right.double)
    case _ where LanguageDefect.programComparesDoubles.isPlanted:
      return SortOrder.compare(Double(left.int), Double(right.int))
    default: return left.int < right.int ? -1 : left.int > right.int ? 1 : 0
    }
  }
}

extension Scalar {
  /// A truth value; `other` becomes MISSING.
  init(of truth: Truth) {
    switch truth {
    case .no: self.init(false)
    case .yes: self.init(true)
    case .null: self = .null
    case .missing, .other: self = .missing
    }
  }
}

extension Truth {
  init(_ scalar: Scalar) {
    switch scalar.kind {
    case .missing: self = .missing
    case .null: self = .null
    case .bool: self = scalar.bool ? .yes : .no
    case .int, .double, .counter, .string, .bytes, .array, .object, .attachment, .decimal: self = .other
    }
  }
}

/// The document on which a program runs.
@usableFromInline
package struct DocumentView: ~Escapable {
  @usableFromInline let id: RawSpan
  @usableFromInline let record: RecordView

  @inlinable
  @_lifetime(copy id, copy record)
  package init(_ id: RawSpan, _ record: borrowing RecordView) {
    self.id = id
    self.record = copy record
  }
}
