import CRDTCore
import DocStore

/// Documents of the peer's interest that are too large to send and that the peer does not hold.
///
/// While either end withholds any, neither end counts as caught up, and the peer's checkpoint stays before
/// them.
struct Withheld: Hashable {
  /// How many documents are recorded individually; further ones count once per collection.
  private static let limit = 1_024

  private var documents: Set<DocumentKey> = []
  /// Collections that may have more withheld documents, until the peer reconciles them again.
  private var overfull: Set<UInt32> = []
  private var names: [UInt32: TextKey] = [:]
  /// The count that was last sent to the peer.
  private var reported = 0
  /// How many documents the peer withholds.
  var byPeer = 0

  /// How many documents are withheld here.
  var count: Int { documents.count + overfull.count }
  var isEmpty: Bool { documents.isEmpty && overfull.isEmpty }
  /// Whether either end withholds anything.
  var isAnywhere: Bool { !isEmpty || byPeer > 0 }

  /// The documents that are recorded individually.
  var known: Set<DocumentKey> { documents }

  /// Returns whether a document that is too large may be withheld; exact for the recorded ones.
  func mayContain(_ key: DocumentKey) -> Bool {
    documents.contains(key) || overfull.contains(key.collection)
  }

  /// Returns whether one of the collections may have more withheld documents than are recorded.
  func isOverfull(in collections: Set<UInt32>) -> Bool { !overfull.isDisjoint(with: collections) }

  mutating func insert(_ key: DocumentKey, of collection: String) {
    guard !documents.contains(key) else { return }
    names[key.collection] = TextKey(collection)
    if documents.count < Self.limit { documents.insert(key) } else { overfull.insert(key.collection) }
  }

  mutating func remove(_ key: DocumentKey) { if !documents.isEmpty { documents.remove(key) } }

  mutating func removeAll() {
    documents = []
    overfull = []
    names = [:]
  }

  /// Removes the documents of collections for which the peer's interest has changed.
  mutating func removeAll(where isChanged: (TextKey) -> Bool) {
    let gone = Set(names.filter { isChanged($1) }.keys)
    guard !gone.isEmpty else { return }
    documents = documents.filter { !gone.contains($0.collection) }
    overfull.subtract(gone)
    for collection in gone { names[collection] = nil }
  }

  /// Returns the count to send to the peer, if it has changed.
  mutating func removeNews() -> Int? {
    guard count != reported else { return nil }
    reported = count
    return reported
  }
}
