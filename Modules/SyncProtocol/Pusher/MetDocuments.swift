import DocStore

/// Documents on which both peers converged by themselves, because their changes crossed on the way.
///
/// Only the last state of each is kept: earlier states need not be verified.
struct MetDocuments {
  private var offers: [DocumentKey: DocumentOffer] = [:]
  /// When the first of them was recorded.
  private(set) var since: Duration = .zero

  var count: Int { offers.count }
  var isEmpty: Bool { offers.isEmpty }

  mutating func note(_ offer: DocumentOffer, of key: DocumentKey, now: Duration) {
    if offers.isEmpty { since = now }
    offers[key] = offer
  }

  /// Removes and returns the offers, by collection and id.
  mutating func take() -> [DocumentOffer] {
    defer { offers = [:] }
    return offers.values.sorted { ($0.collection, $0.item.id) < ($1.collection, $1.item.id) }
  }
}
