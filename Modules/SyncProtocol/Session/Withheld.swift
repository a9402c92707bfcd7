import CRDTCore
import DocStore

/// Documents of the peer's interest that are not sent, as they are too large and the peer holds nothing of them, and how many
/// the peer keeps back so.
///
/// While there are any, neither end counts as caught up, and the peer keeps no place in the log that is beyond them.
struct Withheld: Hashable {
  /// So many are told apart; further ones of a collection count as one.
  private static let limit = 1_024

  private var documents: Set<DocumentKey> = []
  /// The collections of which there may be more, for as long as the peer has not compared them anew.
  private var overfull: Set<UInt32> = []
  private var names: [UInt32: TextKey] = [:]
  /// What the peer was told last.
  private var told = 0
  /// How many documents the peer keeps back.
  var byPeer = 0

  /// How many are kept back here.
  var count: Int { documents.count + overfull.count }
  var isEmpty: Bool { documents.isEmpty && overfull.isEmpty }
  /// Whether one of both ends keeps anything back.
  var isAnywhere: Bool { !isEmpty || byPeer > 0 }

  /// Those that are told apart.
  var known: Set<DocumentKey> { documents }

  /// Whether a document that is too large is kept back, as far as it is told apart from others.
  func mayContain(_ key: DocumentKey) -> Bool {
    documents.contains(key) || overfull.contains(key.collection)
  }

  /// Whether there may be more of one of the collections than are told apart.
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

  /// Forgets those of collections of which the peer asks for something else now.
  mutating func removeAll(where isChanged: (TextKey) -> Bool) {
    let gone = Set(names.filter { isChanged($1) }.keys)
    guard !gone.isEmpty else { return }
    documents = documents.filter { !gone.contains($0.collection) }
    overfull.subtract(gone)
    for collection in gone { names[collection] = nil }
  }

  /// How many the peer is to be told of, if that has changed.
  mutating func takeNews() -> Int? {
    guard count != told else { return nil }
    told = count
    return told
  }
}

extension SessionContext {
  /// Takes note of a document that is too large to be sent to a peer which holds nothing of it.
  func withhold(_ key: DocumentKey, in collection: String, byteCount: Int) {
    withheld.insert(key, of: collection)
    tellOversize(key, in: collection, byteCount: byteCount)
  }

  /// Tells the peer how many documents are kept back, if that has changed.
  func tellWithheld() {
    if let count = withheld.takeNews() { send(.withheld) { $0.writeVarint(count) } }
  }

  /// Takes the peer's word how many documents it keeps back.
  func noteWithheld(byPeer count: Int) {
    if count > 0, withheld.byPeer == 0 { tell(.withheldByPeer(documents: count)) }
    withheld.byPeer = count
  }
}
