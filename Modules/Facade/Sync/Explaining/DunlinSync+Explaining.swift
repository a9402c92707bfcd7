import DocStore

extension DunlinSync {
  /// Explains why a document of this peer is, or is not, at another one.
  ///
  /// It asks no other peer: it uses only what this peer knows at the moment.
  /// - Parameters:
  ///   - id: The document's id.
  ///   - collection: Its collection.
  ///   - peer: A peer of the presence graph.
  /// - Returns: The first reason that applies.
  /// - Throws: `invalidDocumentID`; `corrupt`, `io`, `closed`.
  /// - Complexity: O(*n*) in the documents that wait to be sent before it, up to 10,000, and in the peer's
  ///   queries.
  public func explain(
    _ id: DunlinDocumentID, in collection: String, at peer: DunlinPeer
  ) throws -> DunlinSyncExplanation {
    try explain(id, collection, peer, .outgoing)
  }

  /// Explains why a document with a string id is, or is not, at another peer.
  ///
  /// - Throws: The same as the form for an id.
  public func explain(
    _ id: String, in collection: String, at peer: DunlinPeer
  ) throws -> DunlinSyncExplanation {
    try explain(DunlinDocumentID(stringLiteral: id), in: collection, at: peer)
  }

  /// Explains why a document of this peer is, or is not, at another one.
  ///
  /// - Throws: The same as the form for an id.
  public func explain(
    _ document: DunlinDocument, in collection: String, at peer: DunlinPeer
  ) throws -> DunlinSyncExplanation {
    try explain(document.id, in: collection, at: peer)
  }

  /// Explains why a document that another peer may have has, or has not, come from there.
  ///
  /// It asks no other peer, so this peer does not know whether the other one has such a document. If the
  /// document is not here, only conditions on `_id` of the subscriptions can be evaluated.
  /// - Parameters:
  ///   - id: The document's id.
  ///   - collection: Its collection.
  ///   - peer: A peer of the presence graph.
  /// - Returns: The first reason that applies.
  /// - Throws: The same as the form for the other direction.
  public func explain(
    _ id: DunlinDocumentID, in collection: String, from peer: DunlinPeer
  ) throws -> DunlinSyncExplanation {
    try explain(id, collection, peer, .incoming)
  }

  /// Explains why a document with a string id has, or has not, come from another peer.
  ///
  /// - Throws: The same as the form for an id.
  public func explain(
    _ id: String, in collection: String, from peer: DunlinPeer
  ) throws -> DunlinSyncExplanation {
    try explain(DunlinDocumentID(stringLiteral: id), in: collection, from: peer)
  }

  private func explain(
    _ id: DunlinDocumentID, _ collection: String, _ peer: DunlinPeer,
    _ direction: DunlinSyncExplanation.Direction
  ) throws -> DunlinSyncExplanation {
    let name = try id.checked()
    let explainer = SyncExplainer(
      local: local, sync: sync, collection: collection, id: name, peer: peer)
    let reason = try translatingErrors {
      try local.store.read { transaction in
        switch direction {
        case .outgoing: try explainer.outgoing(transaction)
        case .incoming: try explainer.incoming(transaction)
        }
      }
    }
    return DunlinSyncExplanation(
      collection: collection, documentID: id, peerName: peer.deviceName, peerID: peer.id, peerKind: peer.kind,
      direction: direction, reason: reason, otherCollections: explainer.otherCollections(for: reason),
      granted: direction == .incoming ? ownReading(of: collection) : nil)
  }

  /// How much of a collection this device's grant lets it read; `nil` for all.
  private func ownReading(of collection: String) -> DunlinGrantedReading? {
    #if TLS
      sync.identity?.own.reading(of: collection)
    #else
      nil
    #endif
  }
}
