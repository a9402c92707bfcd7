public import CRDTCore

/// Documents of a collection that a store cannot read because a page is damaged.
public struct UnreadableRange: Hashable, Sendable {
  @TextKey public private(set) var collection: String
  /// The first id; `nil` for the first of the collection.
  public let from: DocumentID?
  /// The first id after the range; `nil` if the range extends to the end of the collection.
  public let to: DocumentID?

  public init(collection: String, from: DocumentID? = nil, to: DocumentID? = nil) {
    _collection = TextKey(collection)
    self.from = from
    self.to = to
  }
}
