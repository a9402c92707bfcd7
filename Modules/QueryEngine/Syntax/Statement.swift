public import CRDTCore

/// A parsed statement of either query language.
public indirect enum Statement: Hashable, Sendable {
  case select(Select)
  case insert(Insert)
  case update(Update)
  case delete(Removal)
  case evict(Removal)
  case alterSystem(AlterSystem)
  case show(Show)
  case explain(Statement)
}

/// A path into a document: a field name, then keys and array indexes.
public typealias FieldPath = [PathComponent]

/// What is evaluated on a document: a value, or MISSING.
///
/// A parsed expression is at most `Limits.depth` levels deep and `Limits.queryNodes` nodes large, so that
/// recursion over it is safe.
public indirect enum Expression: Hashable, Sendable {
  case literal(Value)
  /// The word MISSING, and what a constant without a value becomes.
  case missing
  /// `:name` in DQL, `$args.name` in the builder language.
  case parameter(String)
  /// A document's field; `_id` is the document's id. Never empty, and it starts with a key.
  case path(FieldPath)
  case unary(UnaryOperator, Expression)
  case binary(BinaryOperator, Expression, Expression)
  case and([Expression])
  case or([Expression])
  case between(Expression, low: Expression, high: Expression, negated: Bool)
  case `in`(Expression, Expression, negated: Bool)
  /// LIKE and ILIKE; the escape character is `\` unless given.
  case like(Expression, pattern: Expression, escape: Expression?, caseInsensitive: Bool, negated: Bool)
  case isNull(Expression, negated: Bool)
  case isMissing(Expression, negated: Bool)
  /// A call with a fitting number of arguments.
  case call(Function, [Expression])
  /// Elements that are MISSING become null.
  case array([Expression])
  /// Members that are MISSING are left out; keys are unique.
  case object([ObjectMember])
  /// Searched CASE; a simple CASE is rewritten to comparisons.
  case `case`([WhenClause], otherwise: Expression?)
}

/// A key and its value in an object literal.
public struct ObjectMember: Hashable, Sendable {
  public var key: String
  public var value: Expression

  public init(key: String, value: Expression) {
    self.key = key
    self.value = value
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

/// The operators on one value.
public enum UnaryOperator: Hashable, Sendable {
  case negate
  /// Three-valued: NOT NULL is NULL.
  case not
  /// Two-valued, the builder's `!`: true unless the operand is true.
  case isNotTrue
}

/// The operators on two values.
public enum BinaryOperator: Hashable, Sendable {
  case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
  /// The builder's `==` and `!=`: a missing value counts as null, and null equals null.
  case same, notSame
  case add, subtract, multiply, divide, remainder, concatenate
  case xor, shiftLeft, shiftRight
}

/// One key of ORDER BY.
public struct SortKey: Hashable, Sendable {
  public var expression: Expression
  public var descending: Bool

  public init(expression: Expression, descending: Bool = false) {
    self.expression = expression
    self.descending = descending
  }
}

/// `SELECT * FROM c [WHERE] [ORDER BY] [LIMIT] [OFFSET]`, with projections and the count of all rows.
public struct Select: Hashable, Sendable {
  public enum Projection: Hashable, Sendable {
    case all
    case columns([Column])
    case countAll(alias: String)
  }

  public struct Column: Hashable, Sendable {
    public var expression: Expression
    /// The row's key; an unnamed expression is `($n)` by its position from 1.
    public var name: String

    public init(expression: Expression, name: String) {
      self.expression = expression
      self.name = name
    }
  }

  /// A collection, or `system:name`.
  public var collection: String
  public var projection: Projection
  public var distinct: Bool
  public var predicate: Expression?
  public var order: [SortKey]
  public var limit: Expression?
  public var offset: Expression?

  public init(
    collection: String, projection: Projection = .all, distinct: Bool = false, predicate: Expression? = nil,
    order: [SortKey] = [], limit: Expression? = nil, offset: Expression? = nil
  ) {
    self.collection = collection
    self.projection = projection
    self.distinct = distinct
    self.predicate = predicate
    self.order = order
    self.limit = limit
    self.offset = offset
  }
}

/// `INSERT INTO c [INITIAL] DOCUMENTS (…), (…) [ON ID CONFLICT …]`.
public struct Insert: Hashable, Sendable {
  public enum Conflict: Hashable, Sendable { case fail, doNothing, doUpdate, doUpdateLocalDiff }

  public var collection: String
  /// INITIAL: default data.
  public var initial: Bool
  /// Each evaluates to a document, or to an array of documents.
  public var documents: [Expression]
  public var conflict: Conflict

  public init(collection: String, initial: Bool = false, documents: [Expression], conflict: Conflict = .fail)
  {
    self.collection = collection
    self.initial = initial
    self.documents = documents
    self.conflict = conflict
  }
}

/// `UPDATE c [APPLY …] [SET …] [UNSET …] [WHERE …]`; the clauses take effect in this order.
public struct Update: Hashable, Sendable {
  public struct Assignment: Hashable, Sendable {
    public var path: [String]
    public var value: Expression

    public init(path: [String], value: Expression) {
      self.path = path
      self.value = value
    }
  }

  public enum CounterOperation: Hashable, Sendable {
    /// `INCREMENT BY n` (also `PN_INCREMENT BY n`).
    case increment(Expression)
    /// `RESTART [WITH n]`.
    case restart(Expression)
  }

  public struct Application: Hashable, Sendable {
    public var path: [String]
    public var operation: CounterOperation

    public init(path: [String], operation: CounterOperation) {
      self.path = path
      self.operation = operation
    }
  }

  public var collection: String
  public var applications: [Application]
  public var assignments: [Assignment]
  public var removals: [[String]]
  public var predicate: Expression?

  public init(
    collection: String, applications: [Application] = [], assignments: [Assignment] = [],
    removals: [[String]] = [], predicate: Expression? = nil
  ) {
    self.collection = collection
    self.applications = applications
    self.assignments = assignments
    self.removals = removals
    self.predicate = predicate
  }
}

/// What DELETE and EVICT share.
public struct Removal: Hashable, Sendable {
  public var collection: String
  public var predicate: Expression?
  public var order: [SortKey]
  public var limit: Expression?
  public var offset: Expression?

  public init(
    collection: String, predicate: Expression? = nil, order: [SortKey] = [], limit: Expression? = nil,
    offset: Expression? = nil
  ) {
    self.collection = collection
    self.predicate = predicate
    self.order = order
    self.limit = limit
    self.offset = offset
  }
}

/// `ALTER SYSTEM SET` and `RESET`; names are in lower case.
public enum AlterSystem: Hashable, Sendable {
  case set(String, Expression)
  case reset(String)
  case resetAll
}

/// `SHOW name` and `SHOW ALL`; names are in lower case.
public enum Show: Hashable, Sendable {
  case parameter(String)
  case all(like: String?, caseInsensitive: Bool)
}
