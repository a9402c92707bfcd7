import CRDTCore
package import DocStore
package import QueryLanguage

/// A snapshot of what this peer delivers to another.
package struct PeerDelivery: Hashable, Sendable {
  /// The commit up to which the peer has everything that concerns it and can be sent.
  ///
  /// `nil` while that is uncertain, and for a peer that pulls nothing; 0 before this store's first commit.
  package internal(set) var servedSequence: UInt64?
  /// The peer's encoded queries, one or more in each element; `nil` until the peer has sent its interest.
  var interest: [[UInt8]]?
  var withheld = Withheld()
  /// What the peer's grant lets it do.
  package internal(set) var access = PeerAccess.everything

  package init() {}

  /// Whether the peer has said that it pulls nothing.
  package var pullsNothing: Bool { interest?.isEmpty ?? false }

  /// Whether the peer has sent its interest.
  package var isInterestKnown: Bool { interest != nil }

  /// A number that changes with the peer's interest.
  package var interestMark: UInt64 { UInt64(truncatingIfNeeded: interest.hashValue) }

  /// How many documents are withheld because they are too large to send.
  package var withheldDocuments: Int { withheld.count }

  /// The peer's queries; empty until it has sent its interest.
  ///
  /// - Complexity: O(*n*) in the bytes of the queries, which are parsed.
  package var queries: [SubscriptionQuery] {
    (interest ?? []).flatMap { bytes in
      var queries: [SubscriptionQuery] = []
      var reader = ByteReader(bytes.span.bytes)
      while !reader.isAtEnd, let query = try? SubscriptionQuery(from: &reader) { queries.append(query) }
      return queries
    }
  }

  /// Bytes of the peer's interest.
  package var interestBytes: Int { (interest ?? []).reduce(0) { $0 + $1.count } }

  /// Returns a compact copy to keep after the peer has gone.
  ///
  /// Its queries are in one buffer; the interest is unknown if it takes more than `byteCount`.
  package func kept(atMost byteCount: Int) -> PeerDelivery {
    var kept = self
    if interestBytes > byteCount {
      kept.interest = nil
    } else if let interest, interest.count > 1 {
      kept.interest = [Array(interest.joined())]
    }
    return kept
  }

  /// Returns whether a document is withheld because it is too large to send.
  package func withholds(_ key: DocumentKey) -> Bool { withheld.mayContain(key) }

  /// Returns how many documents that satisfy `isMeant` are withheld.
  ///
  /// Adds one if the collections have more withheld documents than are recorded individually.
  package func withheldDocuments(
    of collections: Set<UInt32>, where isMeant: (DocumentKey) throws -> Bool
  ) rethrows -> Int {
    try withheld.known.filter(isMeant).count + (withheld.isOverfull(in: collections) ? 1 : 0)
  }
}
