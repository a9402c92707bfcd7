import DocStore

/// Documents of which both peers came to a state by themselves, as what they sent each other crossed.
///
/// Of each the last state is kept: of the ones before it nothing needs to be told.
struct MetDocuments {
  private var offers: [DocumentKey: DocumentOffer] = [:]
  /// When the first of them was noted.
  private(set) var since: Duration = .zero

  var count: Int { offers.count }
  var isEmpty: Bool { offers.isEmpty }

  mutating func note(_ offer: DocumentOffer, of key: DocumentKey, now: Duration) {
    if offers.isEmpty { since = now }
    offers[key] = offer
  }

  /// Hands out what is noted, by collection and id.
  mutating func take() -> [DocumentOffer] {
    defer { offers = [:] }
    return offers.values.sorted { ($0.collection, $0.item.id) < ($1.collection, $1.item.id) }
  }
}
