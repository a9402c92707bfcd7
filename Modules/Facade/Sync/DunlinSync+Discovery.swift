package import Transports

extension DunlinSync {
  /// Advertises this peer to its neighbours and connects to those that are found, while sync runs.
  ///
  /// - Throws: As `listen(host:port:)`, where no port can be had for them.
  package func findNeighbours() throws { try translatingErrors { try core.network.discover() } }

  /// Advertises this peer no more, and dials none that was found; connections stay.
  package func stopFindingNeighbours() { core.network.stopDiscovering() }

  /// What keeps this peer from reaching others now.
  package var conditions: Set<TransportCondition> { core.network.conditions }
}
