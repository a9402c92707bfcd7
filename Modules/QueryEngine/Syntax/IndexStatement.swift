public import CRDTCore

/// `CREATE INDEX [IF NOT EXISTS] name ON collection (key, …)`.
public struct CreateIndex: Hashable, Sendable {
  /// What an index orders documents by, first to last.
  public struct Key: Hashable, Sendable {
    /// What of the field's value goes into the index.
    public enum Part: Hashable, Sendable {
      case value
      /// `(lower(path))`: strings in small letters.
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
  /// IF EXISTS: that there is none is no error.
  public var allowsMissing: Bool

  public init(_ name: String, on collection: String, allowsMissing: Bool = false) {
    self.name = name
    self.collection = collection
    self.allowsMissing = allowsMissing
  }
}
