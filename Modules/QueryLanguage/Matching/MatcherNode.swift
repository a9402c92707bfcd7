import CRDTCore

/// One step of a compiled predicate: a plain value, so that running it does not count references.
///
/// Nodes are in preorder: the first child of a node follows it, and `end` is the index after its last child.
struct MatcherNode {
  enum Operation: UInt8 {
    // With children.
    case and, or, not, isNotTrue
    // Without operands; on an expression that is evaluated on values.
    case constant, general
    // On a field, in place. The first examines only the kind of value.
    case kind, bool, compareInt, compareDouble, compareString, compareBytes
    case startsWith, endsWith, containsString, like, regular, inInts, inStrings

    var readsField: Bool { rawValue >= Operation.kind.rawValue }
  }

  /// The result of a comparison for each order of the two values.
  enum Comparison: UInt8 {
    case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
  }

  var operation: Operation
  var comparison: Comparison = .equal
  /// The result when the test in place succeeds, and the result of `constant`.
  var success: Truth = .yes
  /// The result when the test in place fails.
  var failure: Truth = .no
  /// Whether the field is a single key of known id.
  var isSoleKey = false
  var soleKeyID: UInt16 = 0
  /// An index into the matcher's fields, or into its general expressions.
  var operand: Int32 = 0
  var end: Int32 = 0
  /// The operation's range in the matcher's constants.
  var constants = ConstantRange()
  /// The constant of `compareInt`, or the bits of that of `compareDouble`.
  var number: Int64 = 0
  /// The predicate's results for the kinds of values that the test in place does not support.
  var kinds = KindTruths()
}

/// A range of constants in one of a matcher's tables.
struct ConstantRange {
  var start: Int32 = 0
  var count: Int32 = 0

  var bounds: Range<Int> { Int(start)..<Int(start) + Int(count) }
}

/// A predicate's result for each kind of value, and for a missing one.
struct KindTruths {
  private static let missingIndex: UInt64 = 15
  private var packed: UInt64 = 0

  subscript(kind: ValueRef.Kind) -> Truth {
    get { self[UInt64(kind.rawValue)] }
    set { self[UInt64(kind.rawValue)] = newValue }
  }

  var missing: Truth {
    get { self[Self.missingIndex] }
    set { self[Self.missingIndex] = newValue }
  }

  private subscript(index: UInt64) -> Truth {
    get { Truth(rawValue: UInt8(truncatingIfNeeded: packed >> (index * 4)) & 0xF) ?? .missing }
    set { packed = packed & ~(0xF << (index * 4)) | UInt64(newValue.rawValue) << (index * 4) }
  }
}
