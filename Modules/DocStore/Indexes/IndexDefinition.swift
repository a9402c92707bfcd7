public import CRDTCore

/// One value that an index orders documents by.
public struct IndexField: Hashable, Sendable {
  /// What of the value at the path goes into the index.
  public enum Part: UInt8, Sendable {
    case value = 0
    /// Strings in small letters, as `lower()` makes them; other values but null are MISSING.
    case lowercase = 1
    /// Each element of an array, and each value of an object: documents have as many rows, or none.
    case elements = 2
  }

  /// The keys from the document's root to the value; an index does not look into arrays on the way.
  public let path: [TextKey]
  public let part: Part
  public let isDescending: Bool

  public init(_ path: [TextKey], part: Part = .value, descending: Bool = false) {
    self.path = path
    self.part = part
    isDescending = descending
  }
}

/// What an index is to be: the documents of one collection, by one or more of their values.
///
/// An index is this store's own affair: it is never synced.
public struct IndexDefinition: Hashable, Sendable {
  /// Unique among the indexes of its collection.
  @TextKey public private(set) var name: String
  @TextKey public private(set) var collection: String
  /// The first decides; each further one orders documents that are equal by those before it.
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

/// An index as a snapshot has it.
public struct IndexInfo: Hashable, Sendable {
  public enum State: UInt8, Sendable {
    /// Some documents have no row yet, so that it cannot answer a query.
    case building = 0
    case ready = 1
  }

  /// Never given to another index of this store.
  public let number: UInt32
  public let definition: IndexDefinition
  public let state: State
  /// One for each living document, or for each element; while the index is built, for those it has come to.
  public let rowCount: Int
  /// What the rows are like; `nil` until they were gone through, and where they are few.
  public let statistics: IndexStatistics?
}

/// How far the building of an index has come.
public struct IndexProgress: Hashable, Sendable {
  /// Documents that have their row.
  public let indexed: Int
  /// Living documents of the collection.
  public let total: Int
}

extension IndexDefinition {
  /// Fields that one index may have.
  static let maximumFields = 8
  /// Indexes that one collection may have.
  static let maximumPerCollection = 64
  private static let maximumNameBytes = 100

  /// Refuses what cannot be an index.
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
