package import CRDTCore

/// What the grant in a peer's certificate lets it do here, in the form that a session asks.
///
/// A session gets it with its admission, before anything may leave. What the peer may not read is withheld like
/// what a sync scope withholds: it gets no document, id, version, count or fingerprint of it, and cannot tell it
/// from what does not exist.
package struct PeerAccess: Hashable, Sendable {
  /// The documents that a peer may read.
  package enum Reading: Hashable, Sendable {
    case everything
    /// The documents of these collections.
    case collections(Set<TextKey>)
  }

  /// What the peer may read.
  package var reading: Reading
  /// Whether this peer runs statements for it, if it runs any for others.
  package var runsStatements: Bool
  /// Whether it hears of this peer's presence.
  package var hearsPresence: Bool

  package init(reading: Reading, runsStatements: Bool, hearsPresence: Bool) {
    self.reading = reading
    self.runsStatements = runsStatements
    self.hearsPresence = hearsPresence
  }

  /// The access of a peer without a grant.
  package static let everything = PeerAccess(
    reading: .everything, runsStatements: true, hearsPresence: true)

  /// The access of a peer of which nothing is known.
  package static let nothing = PeerAccess(
    reading: .collections([]), runsStatements: false, hearsPresence: false)

  /// Whether the peer may read documents of a collection.
  package func mayRead(_ collection: String) -> Bool {
    switch reading {
    case .everything: true
    case .collections(let names): names.contains(TextKey(collection))
    }
  }

  /// A hash of what the peer may read: equal for equal access, even after a restart, and 0 for everything.
  ///
  /// Checkpoints rest on it, as on the sync scopes.
  package var fingerprint: UInt64 {
    switch reading {
    case .everything: 0
    case .collections(let names):
      max(names.sorted().reduce(HashLanes("reads", seed: 1)) { $0.combined(with: HashLanes($1)) }.first, 1)
    }
  }
}
