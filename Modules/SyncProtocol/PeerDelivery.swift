import CRDTCore
package import DocStore
package import QueryEngine

/// What goes from this peer to another, as their session knows it at one moment.
package struct PeerDelivery: Hashable, Sendable {
  /// The commit up to which the peer has all that concerns it and can be sent; `nil` while that is not certain, and for a
  /// peer that pulls nothing.
  package internal(set) var servedSequence: UInt64?
  /// What the peer subscribes to, as its queries travel, one or more in each piece; `nil` until it has said so.
  var interest: [[UInt8]]?
  var withheld = Withheld()

  package init() {}

  /// Whether the peer has said that it pulls nothing.
  package var pullsNothing: Bool { interest?.isEmpty ?? false }

  /// Whether the peer has said what it subscribes to.
  package var isInterestKnown: Bool { interest != nil }

  /// Another number when the peer subscribes to something else than before.
  package var interestMark: UInt64 { UInt64(truncatingIfNeeded: interest.hashValue) }

  /// How many documents are kept back, since they are too large to be sent.
  package var withheldDocuments: Int { withheld.count }

  /// What the peer subscribes to; none before it has said so.
  ///
  /// - Complexity: O(*n*) in the bytes of its queries, which are parsed.
  package var queries: [SubscriptionQuery] {
    (interest ?? []).flatMap { bytes in
      var queries: [SubscriptionQuery] = []
      var reader = ByteReader(bytes.span.bytes)
      while !reader.isAtEnd, let query = try? SubscriptionQuery(from: &reader) { queries.append(query) }
      return queries
    }
  }

  /// Bytes of what the peer subscribes to.
  package var interestBytes: Int { (interest ?? []).reduce(0) { $0 + $1.count } }

  /// The same in a form to be kept when the peer has gone: its queries in one piece of memory, or unknown where they take
  /// more than `byteCount`.
  package func kept(atMost byteCount: Int) -> PeerDelivery {
    var kept = self
    if interestBytes > byteCount {
      kept.interest = nil
    } else if let interest, interest.count > 1 {
      kept.interest = [Array(interest.joined())]
    }
    return kept
  }

  /// Whether a document that is too large to be sent is kept back.
  package func withholds(_ key: DocumentKey) -> Bool { withheld.mayContain(key) }

  /// How many of certain documents are kept back: those for which the answer is `true`, and one more where there are more
  /// of their collections than are told apart.
  package func withheldDocuments(
    of collections: Set<UInt32>, where isMeant: (DocumentKey) throws -> Bool
  ) rethrows -> Int {
    try withheld.known.filter(isMeant).count + (withheld.isOverfull(in: collections) ? 1 : 0)
  }
}

extension Session {
  /// Whether all that the peer had for the subscriptions of now is here, whatever is kept back from the peer.
  package var hasAllOfPeer: Bool { puller.hasAll }

  /// What goes to the peer.
  package var delivery: PeerDelivery {
    var delivery = PeerDelivery()
    delivery.servedSequence = pusher.holding.confirmed
    if pusher.generation != nil || pusher.subscribed.isNothing {
      delivery.interest = pusher.interest.encodings
    }
    delivery.withheld = context.withheld
    return delivery
  }
}
