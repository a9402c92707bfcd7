/// What is damaged in a store, as far as that can be determined.
public struct VerificationReport: Sendable {
  /// One damaged thing.
  public struct Damage: Hashable, Sendable {
    /// The kind of a damaged thing.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
      public let rawValue: String

      public init(rawValue: String) { self.rawValue = rawValue }

      /// A page of the file: its contents, possibly many documents, cannot be reached.
      public static let page = Kind(rawValue: "page")
      /// One document: its record, or the part of its row before the record.
      public static let document = Kind(rawValue: "document")
      /// An entry of the store's own tables.
      public static let entry = Kind(rawValue: "entry")
      /// A count that differs from what is counted.
      public static let count = Kind(rawValue: "count")
      /// An index that does not agree with its documents.
      public static let index = Kind(rawValue: "index")

      public var description: String { rawValue }
    }

    public let kind: Kind
    /// The collection's name, if it is known.
    public let collection: String?
    /// The document's id, as the hexadecimal digits of its bytes.
    public let id: String?
    /// One sentence without document contents.
    public let message: String
  }

  /// The first ``Limit/damages`` damaged things.
  public internal(set) var damages: [Damage] = []
  /// The number of damaged things.
  public internal(set) var damageCount = 0
  /// The number of documents that were read, including tombstones.
  public internal(set) var documentCount = 0
  /// The number of entries of all tables that were read.
  public internal(set) var entryCount = 0
  /// The number of pages that were read.
  public internal(set) var pageCount = 0
  /// Documents that cannot be read: damaged ones, and those on pages that cannot be read.
  ///
  /// `nil` if it is unknown, because the pages that state the number of documents are damaged.
  public internal(set) var unreadDocuments: Int?
  /// Entries of all tables that were not read, because their pages are damaged; `nil` if that is unknown.
  public internal(set) var unreadEntries: Int?
  /// Pages that were not read: damaged ones, and those that only damaged pages refer to.
  ///
  /// If the list of free pages is damaged, these include free pages.
  public internal(set) var unreadPages = 0
  /// Pages that nothing refers to and no free list has.
  ///
  /// They are wasted space, not damage. Compaction recovers them.
  public internal(set) var lostPages = 0
  /// Whether indexes, and the store's own tables, were compared with the documents.
  ///
  /// That is only possible if all pages, and the entries needed for the comparison, are intact.
  public internal(set) var areIndexesChecked = false

  public var isIntact: Bool { damageCount == 0 }

  /// The limits of a report.
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
