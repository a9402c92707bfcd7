public import CRDTCore

/// `SELECT … FROM c [JOIN …] [WHERE] [GROUP BY] [HAVING] [ORDER BY] [LIMIT] [OFFSET]`.
public struct Select: Hashable, Sendable {
  public enum Projection: Hashable, Sendable {
    case all
    case columns([Column])
    /// The count of all rows, alone.
    case countAll(alias: TextKey)
    /// Whole documents together with columns, or without some of their fields.
    case elements([Element])
  }

  public struct Column: Hashable, Sendable {
    public var expression: Expression
    /// The column's key in the row; an unnamed expression is `($n)` by its position from 1.
    @TextKey public var name: String

    public init(expression: Expression, name: String) {
      self.expression = expression
      self.name = name
    }
  }

  /// One element of a projection that contains whole documents.
  public enum Element: Hashable, Sendable {
    /// `c.*`: every field of a source; sources are counted from 0 in the order of the text.
    case star(source: Int)
    /// `MISSING f`: leaves out this field, whatever the elements before it contain.
    case without(FieldPath)
    case column(Column)
  }

  /// The source after FROM.
  public var source: Source
  public var joins: [Join]
  public var projection: Projection
  public var distinct: Bool
  public var predicate: Expression?
  public var groups: [Expression]
  /// The condition on groups.
  public var having: Expression?
  public var order: [SortKey]
  public var limit: Expression?
  public var offset: Expression?

  public init(
    from source: Source, joins: [Join] = [], projection: Projection = .all, distinct: Bool = false,
    predicate: Expression? = nil, groups: [Expression] = [], having: Expression? = nil,
    order: [SortKey] = [], limit: Expression? = nil, offset: Expression? = nil
  ) {
    self.source = source
    self.joins = joins
    self.projection = projection
    self.distinct = distinct
    self.predicate = predicate
    self.groups = groups
    self.having = having
    self.order = order
    self.limit = limit
    self.offset = offset
  }

  public init(
    collection: String, projection: Projection = .all, distinct: Bool = false, predicate: Expression? = nil,
    order: [SortKey] = [], limit: Expression? = nil, offset: Expression? = nil
  ) {
    self.init(
      from: Source(collection), projection: projection, distinct: distinct, predicate: predicate,
      order: order, limit: limit, offset: offset)
  }

  /// The collection of the first source, or `system:name`.
  public var collection: String { source.collection }
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

/// A further source of a SELECT, with the condition that selects its documents for a row.
public struct Join: Hashable, Sendable {
  public enum Kind: Hashable, Sendable { case inner, left, right }

  public var kind: Kind
  public var source: Source
  /// The condition after ON.
  public var condition: Expression

  public init(_ kind: Kind, _ source: Source, on condition: Expression) {
    self.kind = kind
    self.source = source
    self.condition = condition
  }
}

/// Queries combined by set operators, with the order and the bounds of the whole.
public struct CompoundSelect: Hashable, Sendable {
  public enum SetOperator: String, Hashable, Sendable { case union, intersect, except }

  /// A query, or the combined rows of two operands; `all` keeps equal rows.
  public indirect enum Operand: Hashable, Sendable {
    case select(Select)
    case combined(SetOperator, all: Bool, Operand, Operand)
  }

  public var body: Operand
  public var order: [SortKey]
  public var limit: Expression?
  public var offset: Expression?

  public init(
    _ body: Operand, order: [SortKey] = [], limit: Expression? = nil, offset: Expression? = nil
  ) {
    self.body = body
    self.order = order
    self.limit = limit
    self.offset = offset
  }
}

extension Select.Projection {
  /// The projection with the expression of each column replaced by the result of `transform`.
  package func mapColumns<Failure: Error>(
    _ transform: (Expression) throws(Failure) -> Expression
  ) throws(Failure) -> Select.Projection {
    switch self {
    case .all, .countAll: return self
    case .columns(var columns):
      for index in columns.indices {
        columns[index].expression = try transform(columns[index].expression)
      }
      return .columns(columns)
    case .elements(var elements):
      for index in elements.indices {
        guard case .column(var column) = elements[index] else { continue }
        column.expression = try transform(column.expression)
        elements[index] = .column(column)
      }
      return .elements(elements)
    }
  }
}
