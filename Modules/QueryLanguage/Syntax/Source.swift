public import CRDTCore

/// A collection that a statement reads or writes, with the statement's declarations for it.
public struct Source: Hashable, Sendable {
  /// The collection's name, or `system:name`.
  @TextKey public var collection: String
  /// The collection's alias in the statement; `nil` when its own name is used.
  ///
  /// The parser removes the alias from the paths of a statement on one source. It keeps the alias only where
  /// the statement reads the whole document by it.
  public var alias: TextKey?
  /// The types that the statement declares for fields, in parentheses after the name.
  public var types: [FieldDeclaration]
  public var hints: Hints

  public init(
    _ collection: String, alias: String? = nil, types: [FieldDeclaration] = [], hints: Hints = Hints()
  ) {
    self.collection = collection
    self.alias = alias.map { TextKey($0) }
    self.types = types
    self.hints = hints
  }
}

/// A field and the type that a statement declares for it.
public struct FieldDeclaration: Hashable, Sendable {
  @TextKey public var name: String
  public var type: FieldType

  public init(_ name: String, _ type: FieldType) {
    self.name = name
    self.type = type
  }
}

/// How a field merges, if a statement declares it.
public indirect enum FieldType: Hashable, Sendable {
  /// Replaced as a whole: the last writer wins.
  case register
  /// Merged field by field; it may declare its own fields.
  case map([FieldDeclaration])
  case counter
  /// The older name of a counter.
  case pnCounter
  case attachment
}

/// A statement's hints for the planner; they never change its result.
public struct Hints: Hashable, Sendable {
  /// The indexes to choose from, if they exist; empty: no index is used; `nil`: any.
  public var indexes: [TextKey]?
  /// Whether an index that provides the order has priority over one that narrows the search.
  public var prefersOrder: Bool?
  /// The most scans in a union or an intersection.
  public var maximumScans: Int?
  /// The most joins in the statement.
  public var maximumJoins: Int?

  public init(
    indexes: [TextKey]? = nil, prefersOrder: Bool? = nil, maximumScans: Int? = nil, maximumJoins: Int? = nil
  ) {
    self.indexes = indexes
    self.prefersOrder = prefersOrder
    self.maximumScans = maximumScans
    self.maximumJoins = maximumJoins
  }

  /// Whether there are no hints.
  public var isEmpty: Bool { self == Hints() }
}

extension Source {
  /// Removes the alias, unless one of the expressions reads the whole document by it.
  mutating func dropAlias(unlessReadBy expressions: [Expression]) {
    if !expressions.contains(where: \.readsDocument) { alias = nil }
  }
}
