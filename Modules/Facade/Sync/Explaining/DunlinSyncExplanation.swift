public import SyncProtocol

/// Why a document is, or is not, at another peer, or has not come from there, as far as this peer knows by itself.
///
/// `description` says it in a sentence, without what is in the document. It says nothing of what other peers may keep to
/// themselves: this peer does not know.
public struct DunlinSyncExplanation: Hashable, Sendable {
  /// Which way the document would go.
  public enum Direction: Hashable, Sendable {
    /// From here to the other peer.
    case outgoing
    /// From the other peer to here.
    case incoming
  }

  /// What keeps the document, or that nothing does.
  public enum Reason: Hashable, Sendable {
    /// There is no such document here; it may have been evicted.
    case noSuchDocument
    /// The document was deleted.
    case deleted
    /// The document's record here is damaged: it cannot be sent.
    case damagedHere
    /// One of both peers cannot read, or take in, all documents, so that it is not certain what the other has.
    case uncertain
    /// The peer is not connected.
    case notConnected
    /// The receiver subscribes to nothing of the collection.
    case notSubscribed
    /// The receiver subscribes to others of the collection.
    case noMatch([UnmetSubscription])
    /// The collection's sync scope here keeps the document from peers of that kind.
    case scope(String)
    /// The document is larger than one may be that is sent, in bytes, and the peer holds nothing of it.
    case tooLarge(byteCount: Int, limit: Int)
    /// It is to go, or may be about to come: behind what else is to go before it, where that is known.
    case waiting(Backlog?)
    /// The receiver has it, as it is since a commit of this store.
    case arrived(commitID: UInt64)
    /// The peer keeps back so many documents that are too large to be sent, and this may be one of them.
    case heldBack(documents: Int)
    /// All that the peer had for the subscriptions is here, and the document is not among it.
    case notBrought
  }

  /// A subscription that a document does not match.
  public struct UnmetSubscription: Hashable, Sendable {
    /// The subscription: `SELECT * FROM cars WHERE …`.
    public let subscription: String
    /// Its conditions that are not true of the document, with the values of arguments: at least one.
    public let conditions: [String]
  }

  /// Documents that go before another one.
  public struct Backlog: Hashable, Sendable {
    /// How many, up to 10,000.
    public let documents: Int
    /// Bytes of their records here.
    public let byteCount: Int
  }

  public let collection: String
  public let documentID: DunlinDocumentID
  /// What the other peer calls itself.
  public let peerName: String
  /// A device or the cloud peer.
  public let peerKind: DunlinPeerKind
  public let direction: Direction
  public let reason: Reason

  /// Whether the receiver has the document as it is.
  public var isThere: Bool { if case .arrived = reason { true } else { false } }
}

extension DunlinSyncExplanation: CustomStringConvertible {
  public var description: String {
    let receiver = direction == .outgoing ? peerName : "this peer"
    let subject = direction == .outgoing ? peerName : "This peer"
    return switch reason {
    case .noSuchDocument: "There is no such document of '\(collection)' here."
    case .deleted: "The document of '\(collection)' was deleted."
    case .damagedHere:
      "The document of '\(collection)' is damaged here, and cannot be sent: verify the store."
    case .uncertain:
      "It is not certain what \(receiver) has: \(peerName) or this peer cannot read, or take in, all documents."
    case .notConnected: "\(peerName) is not connected."
    case .notSubscribed: "\(subject) subscribes to nothing of the collection '\(collection)'."
    case .noMatch(let unmet): "\(subject) subscribes to others: \(Self.text(of: unmet))."
    case .scope(let scope):
      """
      The sync scope of '\(collection)' here is \(scope): its documents do not go to \(peerName), a \(peerKind) peer.
      """
    case .tooLarge(let byteCount, let limit):
      "With \(byteCount) bytes the document of '\(collection)' is too large to be sent: \(limit) are the limit."
    case .waiting(let backlog): waitingText(backlog)
    case .arrived(let commitID):
      "\(subject) has the document of '\(collection)', as it is since commit \(commitID) here."
    case .heldBack(let documents):
      """
      \(peerName) keeps back \(documents) document\(documents == 1 ? "" : "s") too large to be sent; the document of \
      '\(collection)' may be \(documents == 1 ? "it" : "among them").
      """
    case .notBrought:
      """
      All that \(peerName) had for the subscriptions is here, and the document of '\(collection)' is not among it.
      """
    }
  }

  private func waitingText(_ backlog: Backlog?) -> String {
    switch (direction, backlog) {
    case (.incoming, _): "Not all that \(peerName) has for the subscriptions is here yet."
    case (.outgoing, nil): "\(peerName) is still being compared with."
    case (.outgoing, let backlog?) where backlog.documents == 0:
      "The document of '\(collection)' is on its way to \(peerName)."
    case (.outgoing, let backlog?):
      """
      The document of '\(collection)' is on its way to \(peerName), behind \(backlog.documents) \
      document\(backlog.documents == 1 ? "" : "s") with \(backlog.byteCount) bytes.
      """
    }
  }

  private static func text(of unmet: [UnmetSubscription]) -> String {
    let texts = unmet.map { subscription in
      let conditions = subscription.conditions.joined(separator: ", nor that ")
      return "of '\(subscription.subscription)' it is not true that \(conditions)"
    }
    return texts.joined(separator: "; ")
  }
}
