public import SyncProtocol

/// Why a document is, or is not, at another peer, or has not come from there.
///
/// It contains only what this peer knows by itself. `description` gives it as a sentence, without the
/// contents of the document. It does not cover what other peers may withhold: this peer does not know that.
public struct DunlinSyncExplanation: Hashable, Sendable {
  /// The direction in which the document would travel.
  public enum Direction: Hashable, Sendable {
    /// From this peer to the other one.
    case outgoing
    /// From the other peer to this one.
    case incoming
  }

  /// What prevents the transfer, or that nothing does.
  public enum Reason: Hashable, Sendable {
    /// The document does not exist here; it may have been evicted.
    case noSuchDocument
    /// The document was deleted.
    case deleted
    /// The document's record here is damaged, so it cannot be sent.
    case damagedHere
    /// It is not certain what the other peer has.
    ///
    /// One of the two peers cannot read, or cannot store, all documents.
    case uncertain
    /// The peer is not connected.
    case notConnected
    /// The receiver has no subscription to the collection.
    case notSubscribed
    /// The receiver subscribes to other documents of the collection.
    case noMatch([UnmetSubscription])
    /// The collection's sync scope here keeps the document from peers of that kind.
    case scope(String)
    /// The document exceeds the size limit for sending, in bytes, and the peer has no version of it.
    case tooLarge(byteCount: Int, limit: Int)
    /// The document is yet to be sent, or may be about to arrive; with the backlog before it, if known.
    case waiting(Backlog?)
    /// The receiver has the document in its state since a commit of this store.
    case arrived(commitID: UInt64)
    /// The peer withholds this number of documents that are too large to be sent; this may be one of them.
    case heldBack(documents: Int)
    /// This peer has all that the other had for the subscriptions, and the document is not among it.
    case notBrought
  }

  /// A subscription that a document does not match.
  public struct UnmetSubscription: Hashable, Sendable {
    /// The subscription: `SELECT * FROM cars WHERE …`.
    public let subscription: String
    /// Its conditions that the document does not meet, with the values of arguments: at least one.
    public let conditions: [String]
  }

  /// Documents that are sent before another one.
  public struct Backlog: Hashable, Sendable {
    /// The number of documents, up to 10,000.
    public let documents: Int
    /// The size of their records here, in bytes.
    public let byteCount: Int
  }

  public let collection: String
  public let documentID: DunlinDocumentID
  /// The other peer's name for itself; empty if it has none.
  public let peerName: String
  /// The id of the other peer's store.
  public let peerID: String
  /// Whether the other peer is a device or the cloud peer.
  public let peerKind: DunlinPeerKind
  public let direction: Direction
  public let reason: Reason
  /// Other collections from which the peer may withhold documents instead, where that is the reason.
  ///
  /// A peer reports only how many documents it withholds in all.
  public let otherCollections: [String]
  /// How much of the collection this device's grant lets it read, for a document that would come from the
  /// other peer; `nil` for all of it, and in the other direction.
  ///
  /// Other peers send nothing beyond that, whatever the subscriptions ask for.
  public let granted: DunlinGrantedReading?

  /// Whether the receiver has the document in its current state.
  public var isThere: Bool { if case .arrived = reason { true } else { false } }
}

extension DunlinSyncExplanation: CustomStringConvertible {
  /// The other peer within a sentence: by its name, or by its id if it has none.
  private var peer: String { peerName.isEmpty ? "the peer \(peerID)" : peerName }

  /// The other peer at the beginning of a sentence.
  private var subject: String { peerName.isEmpty ? "The peer \(peerID)" : peerName }

  public var description: String {
    switch granted {
    case .none: reasonText
    case _ where isThere: reasonText
    case .nothing: "\(reasonText) This device's grant lets it read nothing of the collection '\(collection)'."
    case .some(.some):
      "\(reasonText) This device's grant lets it read only some documents of the collection '\(collection)'."
    }
  }

  private var reasonText: String {
    let receiver = direction == .outgoing ? peer : "this peer"
    let subject = direction == .outgoing ? self.subject : "This peer"
    return switch reason {
    case .noSuchDocument: "There is no such document of '\(collection)' here."
    case .deleted: "The document of '\(collection)' was deleted."
    case .damagedHere:
      "The document of '\(collection)' is damaged here, and cannot be sent: verify the store."
    case .uncertain:
      "It is not certain what \(receiver) has: \(peer) or this peer cannot read, or take in, all documents."
    case .notConnected: "\(self.subject) is not connected."
    case .notSubscribed: "\(subject) subscribes to nothing of the collection '\(collection)'."
    case .noMatch(let unmet): "\(subject) subscribes to others: \(Self.text(of: unmet))."
    case .scope(let scope):
      """
      The sync scope of '\(collection)' here is \(scope): its documents do not go to \(peer), a \(peerKind) peer.
      """
    case .tooLarge(let byteCount, let limit):
      """
      With \(byteCount) bytes the document of '\(collection)' is too large to be sent to \(peer), which has nothing \
      of it: \(limit) are the limit.
      """
    case .waiting(let backlog): waitingText(backlog)
    case .arrived(let commitID):
      "\(subject) has the document of '\(collection)', as it is since commit \(commitID) here."
    case .heldBack(let documents): heldBackText(documents)
    case .notBrought:
      """
      All that \(peer) had for the subscriptions is here, and the document of '\(collection)' is not among it.
      """
    }
  }

  private func heldBackText(_ documents: Int) -> String {
    let head = "\(subject) keeps back \(documents) document\(documents == 1 ? "" : "s") too large to be sent"
    guard !otherCollections.isEmpty else {
      return "\(head); the document of '\(collection)' may be \(documents == 1 ? "it" : "among them")."
    }
    let others = otherCollections.map { "'\($0)'" }.joined(separator: ", ")
    let each = documents == 1 ? "It" : "Each of them"
    return """
      \(head). \(each) may be of '\(collection)' or of another collection that this peer subscribes to (\(others)): \
      the peer does not say which. So the document may be kept back, or not be there at all.
      """
  }

  private func waitingText(_ backlog: Backlog?) -> String {
    switch (direction, backlog) {
    case (.incoming, _): "Not all that \(peer) has for the subscriptions is here yet."
    case (.outgoing, nil): "\(subject) is still being compared with."
    case (.outgoing, let backlog?) where backlog.documents == 0:
      "The document of '\(collection)' is on its way to \(peer)."
    case (.outgoing, let backlog?):
      """
      The document of '\(collection)' is on its way to \(peer), behind \(backlog.documents) \
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
