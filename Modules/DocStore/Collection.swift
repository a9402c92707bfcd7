public import CRDTCore

/// A collection as a transaction sees it.
public struct Collection: Sendable {
  /// The collection's number in this store; other stores give it other numbers.
  public let id: UInt32
  public let name: String
  /// The field names that its records refer to.
  public let keys: KeyTable

  package init(id: UInt32, name: String, keys: KeyTable) {
    self.id = id
    self.name = name
    self.keys = keys
  }
}

extension Collection: Hashable {
  public static func == (a: Collection, b: Collection) -> Bool { a.id == b.id }
  public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

/// One entry of the list of collections.
public struct CollectionInfo: Hashable, Sendable {
  public let id: UInt32
  @TextKey public private(set) var name: String
  /// Documents that are neither removed nor evicted.
  public let documentCount: Int
  /// Documents that are removed and whose tombstones are still stored.
  public let tombstoneCount: Int
}

/// The key of a document in a store: its collection's number and its id.
public struct DocumentKey: Hashable, Sendable {
  public let collection: UInt32
  public let id: DocumentID

  public init(collection: UInt32, id: DocumentID) {
    self.collection = collection
    self.id = id
  }

  public static func == (a: DocumentKey, b: DocumentKey) -> Bool {
    a.collection == b.collection && a.id.bytes.rawBytes.isEqual(to: b.id.bytes.rawBytes)
  }

  /// Hashes the id's bytes by words, which is many times faster for long ids than byte by byte.
  public func hash(into hasher: inout Hasher) { hasher.combine(mixed) }

  /// A hash for tables of this process; no peer can predict it.
  var mixed: UInt64 { HashLanes(id.bytes.rawBytes, seed: Self.seed ^ UInt64(collection)).first }

  /// Drawn anew by each process, because peers choose ids.
  private static let seed = UInt64.random(in: .min ... .max)
}

/// The rules for collections' names.
package enum CollectionName {
  /// Names with this prefix are reserved for the system.
  static let systemPrefix = "__"

  package static func check(_ name: String, operation: String) throws(StoreError) {
    let problem: String
    if name.isEmpty {
      problem = "is empty"
    } else if name.utf8.count > Limits.collectionNameBytes {
      problem = "takes \(name.utf8.count) bytes, at most \(Limits.collectionNameBytes) are allowed"
    } else if name.utf8.contains(0) {
      problem = "contains a NUL"
    } else if name.utf8.starts(with: systemPrefix.utf8) {
      problem = "begins with \(systemPrefix), which is reserved for the system"
    } else {
      return
    }
    throw StoreError(.invalidCollectionName, "The collection's name \(problem)", operation: operation)
  }
}
