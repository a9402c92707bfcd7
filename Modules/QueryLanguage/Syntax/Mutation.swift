public import CRDTCore

/// `INSERT INTO c [INITIAL] DOCUMENTS (…), (…) [ON ID CONFLICT …] [RETURNING …]`, or with a query's rows.
public struct Insert: Hashable, Sendable {
  public enum Conflict: Hashable, Sendable { case fail, doNothing, doUpdate, doUpdateLocalDiff }

  /// The source of the documents.
  public enum Content: Hashable, Sendable {
    /// Each evaluates to a document, or to an array of documents.
    case documents([Expression])
    /// Each row is a document.
    case query(Select)
  }

  public var target: Source
  /// INITIAL: default data.
  public var initial: Bool
  public var content: Content
  public var conflict: Conflict
  /// The projection of each written document for the result; `nil`: no rows.
  public var returning: Select.Projection?

  public init(
    into target: Source, initial: Bool = false, _ content: Content, conflict: Conflict = .fail,
    returning: Select.Projection? = nil
  ) {
    self.target = target
    self.initial = initial
    self.content = content
    self.conflict = conflict
    self.returning = returning
  }

  public init(collection: String, initial: Bool = false, documents: [Expression], conflict: Conflict = .fail)
  {
    self.init(into: Source(collection), initial: initial, .documents(documents), conflict: conflict)
  }

  public var collection: String { target.collection }
}

/// `UPDATE c [APPLY …] [SET …] [UNSET …] [WHERE …] [RETURNING …]`; the clauses take effect in this order.
public struct Update: Hashable, Sendable {
  public struct Assignment: Hashable, Sendable {
    public var path: [TextKey]
    public var value: Expression

    public init(path: [TextKey], value: Expression) {
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
    public var path: [TextKey]
    public var operation: CounterOperation

    public init(path: [TextKey], operation: CounterOperation) {
      self.path = path
      self.operation = operation
    }
  }

  public var target: Source
  public var applications: [Application]
  public var assignments: [Assignment]
  public var removals: [[TextKey]]
  public var predicate: Expression?
  public var order: [SortKey] = []
  public var limit: Expression?
  public var offset: Expression?
  /// The projection of each changed document, as it is now, for the result; `nil`: no rows.
  public var returning: Select.Projection?

  public init(
    _ target: Source, applications: [Application] = [], assignments: [Assignment] = [],
    removals: [[TextKey]] = [], predicate: Expression? = nil, returning: Select.Projection? = nil
  ) {
    self.target = target
    self.applications = applications
    self.assignments = assignments
    self.removals = removals
    self.predicate = predicate
    self.returning = returning
  }

  public init(
    collection: String, applications: [Application] = [], assignments: [Assignment] = [],
    removals: [[TextKey]] = [], predicate: Expression? = nil
  ) {
    self.init(
      Source(collection), applications: applications, assignments: assignments, removals: removals,
      predicate: predicate)
  }

  public var collection: String { target.collection }
}

/// The common parts of DELETE and EVICT.
public struct Removal: Hashable, Sendable {
  public var target: Source
  public var predicate: Expression?
  public var order: [SortKey]
  public var limit: Expression?
  public var offset: Expression?
  /// The projection of each removed document, as it was, for the result; `nil`: no rows.
  public var returning: Select.Projection?

  public init(
    from target: Source, predicate: Expression? = nil, order: [SortKey] = [], limit: Expression? = nil,
    offset: Expression? = nil, returning: Select.Projection? = nil
  ) {
    self.target = target
    self.predicate = predicate
    self.order = order
    self.limit = limit
    self.offset = offset
    self.returning = returning
  }

  public init(
    collection: String, predicate: Expression? = nil, order: [SortKey] = [], limit: Expression? = nil,
    offset: Expression? = nil
  ) {
    self.init(from: Source(collection), predicate: predicate, order: order, limit: limit, offset: offset)
  }

  public var collection: String { target.collection }
}
