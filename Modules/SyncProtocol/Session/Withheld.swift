import CRDTCore
import DocStore

/// Documents of the peer's interest that are not sent, as they are too large and the peer holds nothing of them, and how many
/// the peer keeps back so.
///
/// While there are any, neither end counts as caught up.
struct Withheld {
  /// So many are told apart; further ones count as one.
  private static let limit = 1_024

  private var documents: Set<DocumentKey> = []
  /// What the peer was told last.
  private var told = 0
  /// How many documents the peer keeps back.
  var byPeer = 0

  /// How many are kept back here.
  var count: Int { documents.count }
  var isEmpty: Bool { documents.isEmpty }
  /// Whether one of both ends keeps anything back.
  var isAnywhere: Bool { !documents.isEmpty || byPeer > 0 }

  mutating func insert(_ key: DocumentKey) { if documents.count < Self.limit { documents.insert(key) } }

  mutating func remove(_ key: DocumentKey) { if !documents.isEmpty { documents.remove(key) } }

  mutating func removeAll() { documents = [] }

  /// How many the peer is to be told of, if that has changed.
  mutating func takeNews() -> Int? {
    guard documents.count != told else { return nil }
    told = documents.count
    return told
  }
}

extension SessionContext {
  /// Takes note of a document that is too large to be sent to a peer which holds nothing of it.
  func withhold(_ key: DocumentKey, in collection: String, byteCount: Int) {
    withheld.insert(key)
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
