public import CRDTCore

/// An expression that is evaluated on a document; its result is a value, or MISSING.
///
/// A parsed expression is at most `Limits.depth` levels deep and `Limits.queryNodes` nodes large, so that
/// recursion over it is safe.
public indirect enum Expression: Hashable, Sendable {
  case literal(Value)
  /// The word MISSING, and the result of a constant expression without a value.
  case missing
  /// `:name` in DQL, `$args.name` in the builder language.
  case parameter(TextKey)
  /// A field of the only source's document; `_id` is the document's id.
  ///
  /// An empty path is the whole document. Any other path starts with a key. Before names are bound, paths may
  /// begin with their sources' names.
  case path(FieldPath)
  /// A field of one of several joined sources, counted from 0 in the order of the text.
  ///
  /// An empty path is the whole document.
  case field(source: Int, FieldPath)
  /// A variable that a comprehension around this expression binds, or a part of it.
  case variable(Variable, FieldPath)
  case unary(UnaryOperator, Expression)
  case binary(BinaryOperator, Expression, Expression)
  case and([Expression])
  case or([Expression])
  case between(Expression, low: Expression, high: Expression, negated: Bool)
  case `in`(Expression, Expression, negated: Bool)
  /// Whether a value is among those of an inner query, which reads no fields of the statement around it.
  case inQuery(Expression, Select, negated: Bool)
  /// Whether an inner query has a row.
  case existsQuery(Select)
  /// LIKE and ILIKE; the escape character is `\` unless given.
  case like(Expression, pattern: Expression, escape: Expression?, caseInsensitive: Bool, negated: Bool)
  /// SIMILAR TO; the escape character is `\` unless given.
  case similar(Expression, pattern: Expression, escape: Expression?, negated: Bool)
  case isNull(Expression, negated: Bool)
  case isMissing(Expression, negated: Bool)
  /// The operand, compared and sorted by a collation instead of by bytes.
  case collate(Expression, Collation)
  /// A call with a valid number of arguments.
  case call(Function, [Expression])
  /// A value computed over all rows of a group; without an operand it is the count of the rows.
  case aggregate(Aggregate, distinct: Bool, Expression?)
  /// An array literal; elements that are MISSING become null.
  case array([Expression])
  /// An object literal.
  ///
  /// Members whose key is not a string, or whose value is MISSING, are left out. Of two members with the same
  /// key, the later one wins.
  case object([ObjectMember])
  /// Searched CASE; a simple CASE is converted to comparisons.
  case `case`([WhenClause], otherwise: Expression?)
  /// `ANY v IN s SATISFIES c END` and the like.
  case quantified(Quantifier, Iteration, satisfies: Expression)
  /// `ARRAY e FOR v IN s WHEN c END`.
  case arrayFor(Expression, Iteration, when: Expression?)
  /// `OBJECT k : v FOR v IN s WHEN c END`.
  case objectFor(key: Expression, value: Expression, Iteration, when: Expression?)
}

/// A key and its value in an object literal.
public struct ObjectMember: Hashable, Sendable {
  public var key: Expression
  public var value: Expression

  public init(key: Expression, value: Expression) {
    self.key = key
    self.value = value
  }

  /// A member with a fixed key.
  public init(key: String, value: Expression) {
    self.init(key: .literal(.string(key)), value: value)
  }
}

/// One branch of CASE: the result where the condition is true.
public struct WhenClause: Hashable, Sendable {
  public var condition: Expression
  public var result: Expression

  public init(condition: Expression, result: Expression) {
    self.condition = condition
    self.result = result
  }
}

/// The operators with one operand.
public enum UnaryOperator: Hashable, Sendable {
  case negate
  /// Three-valued: NOT NULL is NULL.
  case not
  /// Two-valued, the builder's `!`: true unless the operand is true.
  case isNotTrue
}

/// The operators with two operands.
public enum BinaryOperator: Hashable, Sendable {
  case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
  /// The builder's `==` and `!=`: a missing value counts as null, and null equals null.
  case same, notSame
  case add, subtract, multiply, divide, remainder, concatenate
  case xor, shiftLeft, shiftRight
}

/// The rules by which COLLATE compares strings.
public enum Collation: String, Hashable, Sendable, CaseIterable {
  /// By their UTF-8 bytes, as without COLLATE.
  case binary
  /// With all letters in lower case.
  case caseInsensitive = "nocase"
}

/// The functions over all rows of a group.
public enum Aggregate: String, Hashable, Sendable, CaseIterable {
  case count, sum, avg, min, max, median, mid
}
