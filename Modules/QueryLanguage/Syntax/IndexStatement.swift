public import CRDTCore

/// `CREATE INDEX [IF NOT EXISTS] name ON collection (key, …)`.
public struct CreateIndex: Hashable, Sendable {
  /// A part of a document by which an index orders documents, first to last.
  public struct Key: Hashable, Sendable {
    /// The part of the field's value that is in the index.
    public enum Part: Hashable, Sendable {
      case value
      /// `(lower(path))`: strings in lower case.
      case lowercase
      /// `path[*]`: each element of an array.
      case elements
    }

    public var path: [TextKey]
    public var part: Part
    public var descending: Bool

    public init(_ path: [TextKey], part: Part = .value, descending: Bool = false) {
      self.path = path
      self.part = part
      self.descending = descending
    }
  }

  @TextKey public var name: String
  @TextKey public var collection: String
  public var keys: [Key]
  /// IF NOT EXISTS: an index of this name, whatever its keys, is kept.
  public var allowsExisting: Bool

  public init(_ name: String, on collection: String, _ keys: [Key], allowsExisting: Bool = false) {
    self.name = name
    self.collection = collection
    self.keys = keys
    self.allowsExisting = allowsExisting
  }
}

/// `DROP INDEX [IF EXISTS] name ON collection`.
public struct DropIndex: Hashable, Sendable {
  @TextKey public var name: String
  @TextKey public var collection: String
  /// IF EXISTS: a missing index is not an error.
  public var allowsMissing: Bool

  public init(_ name: String, on collection: String, allowsMissing: Bool = false) {
    self.name = name
    self.collection = collection
    self.allowsMissing = allowsMissing
  }
}
