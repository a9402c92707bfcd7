/// What is damaged in a store, as far as it can be told.
public struct VerificationReport: Sendable {
  /// One thing that is wrong.
  public struct Damage: Hashable, Sendable {
    /// What kind of thing.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
      public let rawValue: String

      public init(rawValue: String) { self.rawValue = rawValue }

      /// A page of the file: what it held is out of reach, maybe many documents.
      public static let page = Kind(rawValue: "page")
      /// One document: its record, or what stands before it.
      public static let document = Kind(rawValue: "document")
      /// An entry of the store's own tables.
      public static let entry = Kind(rawValue: "entry")
      /// A count that does not fit what is counted.
      public static let count = Kind(rawValue: "count")
      /// An index that does not fit its documents.
      public static let index = Kind(rawValue: "index")

      public var description: String { rawValue }
    }

    public let kind: Kind
    /// The collection's name, where it is known.
    public let collection: String?
    /// The document's id, as the hexadecimal digits of its bytes.
    public let id: String?
    /// One sentence without document contents.
    public let message: String
  }

  /// The first ``Limit/damages`` things that are wrong.
  public internal(set) var damages: [Damage] = []
  /// How many things are wrong.
  public internal(set) var damageCount = 0
  /// Documents that were read, tombstones among them.
  public internal(set) var documentCount = 0
  /// Entries of all tables that were read.
  public internal(set) var entryCount = 0
  /// Pages that were read.
  public internal(set) var pageCount = 0
  /// Pages that nothing refers to and that no free list has: lost room, no damage; compaction gets it back.
  public internal(set) var lostPages = 0
  /// Whether indexes, and the store's own tables, were compared with the documents, which is only possible where all
  /// pages, and the entries they are compared by, are whole.
  public internal(set) var areIndexesChecked = false

  public var isIntact: Bool { damageCount == 0 }

  /// How much a report holds.
  public enum Limit {
    public static let damages = 1_000
  }

  mutating func note(_ kind: Damage.Kind, _ message: String, collection: String? = nil, id: String? = nil) {
    damageCount += 1
    guard damages.count < Limit.damages else { return }
    damages.append(Damage(kind: kind, collection: collection, id: id, message: message))
  }
}

extension VerificationReport.Damage: CustomStringConvertible {
  public var description: String {
    let place = [collection.map { "collection \($0)" }, id.map { "document \($0)" }].compactMap { $0 }
    return (["\(kind)"] + place).joined(separator: ", ") + ": " + message
  }
}
