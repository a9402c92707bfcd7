package import CRDTCore

/// A document by two hashes: of its collection's name, and of its id.
///
/// What is found by it may belong to another document with the same hashes, which is improbable. It names
/// erased documents without their ids.
package struct HashedDocument: Hashable, Comparable, Sendable {
  package static let byteCount = 16
  /// The hash that stands for every document of the collection.
  private static let any: UInt64 = 0

  private let collection: UInt64
  private let id: UInt64

  package init(collection: String, id: RawSpan) {
    self.collection = HashLanes(collection).first
    self.id = HashLanes(id).first
  }

  package init(collection: String, id: DocumentID) {
    self.init(collection: collection, id: id.bytes.rawBytes)
  }

  /// Stands for every document of a collection.
  package init(anyOf collection: String) {
    self.collection = HashLanes(collection).first
    id = Self.any
  }

  private init(collection: UInt64, id: UInt64) { (self.collection, self.id) = (collection, id) }

  /// Reads the bytes of a hash; `nil` if there are not as many.
  package init?(_ bytes: ArraySlice<UInt8>) {
    guard bytes.count == Self.byteCount else { return nil }
    func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    collection = word(bytes.prefix(8))
    id = word(bytes.suffix(8))
  }

  package var bytes: [UInt8] {
    var bytes = ByteWriter(capacity: Self.byteCount)
    bytes.writeFixed(collection)
    bytes.writeFixed(id)
    return bytes.bytes
  }

  /// The one that stands for every document of the same collection.
  var ofAny: HashedDocument { HashedDocument(collection: collection, id: Self.any) }

  package static func < (a: HashedDocument, b: HashedDocument) -> Bool {
    (a.collection, a.id) < (b.collection, b.id)
  }
}
