/// All rows there are.
enum Rows {
  static let all: [Row] =
    [
      HonestPeers.stopAndGo, HonestPeers.stopAndGoLarge, ManyDeltas.row, DenseChunks.empty, DenseChunks.full,
      ManyDocuments.beyondTheWindow, Interests.cache, Interests.wideLists, Interests.ilike, Questions.wants,
      Bombs.unfinishedTransfers, Bombs.manyTransfers, Bombs.storedTransfers,
      ManyDocuments.keys, Statements.unreadAnswers, PingFlood.row,
      Connections.logFlood,
      ManyDocuments.sites, Questions.overlapping, Connections.siteClaim, Connections.idleSessions,
      HonestPeers.narrowNeighbour, HonestPeers.narrowReturn, Shapes.lengths, Bombs.zip, Shapes.nesting,
      Shapes.numbers,
      ManyDocuments.sameHashKeys, Interests.regex, Interests.manyPatterns, Statements.expensive,
      Interests.wideConditions,
      Connections.partialFrames, WebSockets.beforeHello, WebSockets.afterHello, ManyDocuments.farFuture,
      ManyDocuments.tombstones, ManyDocuments.collections,
    ] + frontDoor

  /// The rows at a big peer's listeners for HTTP.
  private static var frontDoor: [Row] {
    #if Server
      [Streams.unread, FrontDoor.idle, FrontDoor.heads]
    #else
      []
    #endif
  }

  static let controls: [Row] = [Controls.idle, Controls.held, Controls.stopped, WebSockets.allowed]

  static func named(_ name: String) -> Row? { (all + controls).first { $0.name == name } }
}
