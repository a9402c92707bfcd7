import CRDTCore

/// One step of a ``ScalarProgram``: a plain value, so that running it counts no references.
///
/// Nodes stand in preorder: the first child of a node follows it, and `end` is the index after its last.
struct ScalarNode {
  enum Operation: UInt8 {
    // Without children.
    case constant, key, field, identifier, variable, general
    // Over one child.
    case negate, not, isNotTrue, isNull, isMissing, like, regular, listed
    // Over two.
    case compare, same, xor, arithmetic, membership
    // Over three: the subject and its bounds.
    case between
    // Over as many as there are.
    case and, or, choose, firstKnown, firstPresent, firstNotNull, nvl, decode, call
    // Over a source and a condition.
    case quantified
  }

  var operation: Operation
  /// Whether the answer is turned round; of `choose`, whether the last child is ELSE.
  var flag = false
  var symbol = BinaryOperator.equal
  var function = Function.abs
  var quantifier = Quantifier.any
  var listTest = ListTest.Kind.membership
  var keyID: UInt16 = 0
  /// An index into one of the program's tables, or a variable's slot.
  var operand: Int32 = 0
  var end: Int32 = 0
  var constant = Scalar.missing
}
