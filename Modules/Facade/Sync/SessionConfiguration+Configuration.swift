import SyncProtocol

extension DunlinConfiguration {
  /// The configuration of each sync session.
  func sessionConfiguration(appID: String) -> SessionConfiguration {
    var session = SessionConfiguration(
      kind: peerKind, peerName: peerName, appID: appID, compressionLevel: compressionLevel)
    if waitsForPeers {
      (session.helloDeadline, session.silence, session.stall) = (
        .seconds(3_600), .seconds(3_600), .seconds(3_600)
      )
    }
    // The network that runs the session admits each peer with what its grant lets it do.
    session.access = .nothing
    session.answersRemoteQueries = answersRemoteQueries
    session.peerMemoryBytes = peerMemoryBytes
    session.allPeersMemoryBytes = allPeersMemoryBytes
    return session
  }
}
