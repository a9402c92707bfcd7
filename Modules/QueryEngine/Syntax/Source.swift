public import CRDTCore

/// A collection that a statement reads or writes, and what the statement says of it.
public struct Source: Hashable, Sendable {
  /// The collection's name, or `system:name`.
  @TextKey public var collection: String
  /// What the statement calls it; `nil` when it is called by its own name.
  ///
  /// Parsed statements on one source have it in front of no path, and do not keep it.
  public var alias: TextKey?
  /// What the statement declares of fields, in parentheses after the name.
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

/// How a field merges, where a statement declares it.
public indirect enum FieldType: Hashable, Sendable {
  /// Replaced as a whole: the last writer wins.
  case register
  /// Merged field by field; it may declare its own fields.
  case map([FieldDeclaration])
  case counter
  /// The older word for a counter.
  case pnCounter
  case attachment
}

/// What a statement advises the planner; it never changes what the statement answers.
public struct Hints: Hashable, Sendable {
  /// The indexes to choose from, where they exist; none: no index is used; `nil`: any.
  public var indexes: [TextKey]?
  /// Whether an index that gives the order goes before one that narrows the search.
  public var prefersOrder: Bool?
  /// How many scans a union or an intersection may put together.
  public var maximumScans: Int?
  /// How many joins the statement may have.
  public var maximumJoins: Int?

  public init(
    indexes: [TextKey]? = nil, prefersOrder: Bool? = nil, maximumScans: Int? = nil, maximumJoins: Int? = nil
  ) {
    self.indexes = indexes
    self.prefersOrder = prefersOrder
    self.maximumScans = maximumScans
    self.maximumJoins = maximumJoins
  }

  /// Whether nothing is advised.
  public var isEmpty: Bool { self == Hints() }
}
