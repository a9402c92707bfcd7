public import CRDTCore

/// One value by which an index orders documents.
public struct IndexField: Hashable, Sendable {
  /// Which part of the value at the path the index contains.
  public enum Part: UInt8, Sendable {
    case value = 0
    /// Strings in lower case, as `lower()` returns them; other values except null are MISSING.
    case lowercase = 1
    /// Each element of an array, and each value of an object: a document has a row for each, or none.
    case elements = 2
  }

  /// The keys from the document's root to the value; an index does not look into arrays on this path.
  public let path: [TextKey]
  public let part: Part
  public let isDescending: Bool

  public init(_ path: [TextKey], part: Part = .value, descending: Bool = false) {
    self.path = path
    self.part = part
    isDescending = descending
  }
}

/// The definition of an index: the documents of one collection, ordered by one or more of their values.
///
/// An index is local to this store, and is never synced.
public struct IndexDefinition: Hashable, Sendable {
  /// The name, unique among the indexes of its collection.
  @TextKey public private(set) var name: String
  @TextKey public private(set) var collection: String
  /// The first field decides; each further one orders documents that are equal by those before it.
  public let fields: [IndexField]

  public init(name: String, collection: String, fields: [IndexField]) {
    self.name = name
    self.collection = collection
    self.fields = fields
  }
}

extension IndexDefinition {
  /// Whether a document may have several rows, or none.
  public var hasElements: Bool { fields.contains { $0.part == .elements } }
}

/// An index as a snapshot contains it.
public struct IndexInfo: Hashable, Sendable {
  public enum State: UInt8, Sendable {
    /// Some documents have no row yet, so the index cannot answer a query.
    case building = 0
    case ready = 1
  }

  /// The index's number, never given to another index of this store.
  public let number: UInt32
  public let definition: IndexDefinition
  public let state: State
  /// The number of rows: one for each living document, or for each element.
  ///
  /// While the index is being built, it has rows only for the documents processed so far.
  public let rowCount: Int
  /// What the rows are like; `nil` before the rows were examined, and if there are few rows.
  public let statistics: IndexStatistics?
}

/// The progress of building an index.
public struct IndexProgress: Hashable, Sendable {
  /// The number of documents that have their row.
  public let indexed: Int
  /// The number of living documents in the collection.
  public let total: Int
}

extension IndexDefinition {
  /// The maximum number of fields of one index.
  static let maximumFields = 8
  /// The maximum number of indexes of one collection.
  static let maximumPerCollection = 64
  private static let maximumNameBytes = 100

  /// Refuses an invalid definition.
  func check() throws(StoreError) {
    try CollectionName.check(collection, operation: "createIndex")
    if let problem {
      throw StoreError(.invalidIndex, "The index \(problem)", operation: "createIndex")
    }
  }

  private var problem: String? {
    if name.isEmpty { return "has no name" }
    if name.utf8.count > Self.maximumNameBytes || name.utf8.contains(0) {
      return "has a name of more than \(Self.maximumNameBytes) bytes, or with a NUL in it"
    }
    if fields.isEmpty { return "has no fields" }
    if fields.count > Self.maximumFields { return "has more than \(Self.maximumFields) fields" }
    let names = Set(fields.map { IndexField($0.path, part: $0.part) })
    if names.count < fields.count { return "names a field twice" }
    if fields.count(where: { $0.part == .elements }) > 1 { return "has the elements of more than one array" }
    for field in fields {
      if field.path.isEmpty || field.path.count > Limits.depth { return "has a path of no or too many keys" }
      if field.path.first == "_id" { return "names _id, by which documents are found without one" }
      if field.path.contains(where: { $0.utf8.count > UInt16.max }) { return "names a key that is too long" }
    }
    return nil
  }
}
