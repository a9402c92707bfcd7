import DocStore

extension DunlinSync {
  /// Says why a document of this peer is, or is not, at another one.
  ///
  /// It asks nobody: it goes by what this peer knows at the moment.
  /// - Parameters:
  ///   - id: The document's id.
  ///   - collection: Its collection.
  ///   - peer: A peer of the presence graph.
  /// - Returns: The first reason that holds.
  /// - Throws: `invalidDocumentID`; `corrupt`, `io`, `closed`.
  /// - Complexity: O(*n*) in the documents that wait to go before it, up to 10,000, and in the peer's queries.
  public func explain(
    _ id: DunlinDocumentID, in collection: String, at peer: DunlinPeer
  ) throws -> DunlinSyncExplanation {
    try explain(id, collection, peer, .outgoing)
  }

  /// Says why a document of this peer is, or is not, at another one.
  ///
  /// - Throws: As the form for an id.
  public func explain(
    _ document: DunlinDocument, in collection: String, at peer: DunlinPeer
  ) throws -> DunlinSyncExplanation {
    try explain(document.id, in: collection, at: peer)
  }

  /// Says why a document that another peer may have has, or has not, come from there.
  ///
  /// It asks nobody: whether the peer has such a document this peer does not know. Where it is not here, of the
  /// subscriptions only conditions on `_id` can be judged.
  /// - Parameters:
  ///   - id: The document's id.
  ///   - collection: Its collection.
  ///   - peer: A peer of the presence graph.
  /// - Returns: The first reason that holds.
  /// - Throws: As the form for the other direction.
  public func explain(
    _ id: DunlinDocumentID, in collection: String, from peer: DunlinPeer
  ) throws -> DunlinSyncExplanation {
    try explain(id, collection, peer, .incoming)
  }

  private func explain(
    _ id: DunlinDocumentID, _ collection: String, _ peer: DunlinPeer,
    _ direction: DunlinSyncExplanation.Direction
  ) throws -> DunlinSyncExplanation {
    let name = try id.checked()
    let explainer = SyncExplainer(core: core, collection: collection, id: name, peer: peer)
    let reason = try translatingErrors {
      try core.store.read { transaction in
        switch direction {
        case .outgoing: try explainer.outgoing(transaction)
        case .incoming: try explainer.incoming(transaction)
        }
      }
    }
    return DunlinSyncExplanation(
      collection: collection, documentID: id, peerName: peer.deviceName, peerKind: peer.kind,
      direction: direction, reason: reason)
  }
}
