import CRDTCore

/// One step of a ``ScalarProgram``: a plain value, so that running it does not count references.
///
/// Nodes are in preorder: the first child of a node follows it, and `end` is the index after its last child.
struct ScalarNode {
  enum Operation: Equatable {
    // Without children.
    case constant, key, field, identifier, variable, general
    // With one child.
    case negate, not, isNotTrue, isNull, isMissing, like, regular, listed
    // With two children.
    case compare, same, xor, arithmetic, membership
    // With three children: the subject and its bounds.
    case between
    // With any number of children.
    case and, or, choose, firstKnown, firstPresent, firstNotNull, nvl, decode
    // With the arguments of a function.
    case call(Call)
    // With a source and a condition.
    case quantified
  }

  /// The form in place of a function that evaluates all its arguments.
  enum Call {
    // Of one argument, also a MISSING or NULL one.
    case isMissingOrNull, type, jsonType
    // Of one argument.
    case lower, upper, byteLength, charLength, arrayLength, arrayContainsNull
    // Of two arguments, also MISSING or NULL ones.
    case nullIf, missingIf
    // Of two arguments.
    case contains, startsWith, endsWith, arrayContains
    // Of any number of arguments.
    case concat, substr
    /// The arguments become owned values, on which the function is evaluated as elsewhere.
    case onValues
  }

  var operation: Operation
  /// Whether the result is negated; of `choose`, whether the last child is ELSE.
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
