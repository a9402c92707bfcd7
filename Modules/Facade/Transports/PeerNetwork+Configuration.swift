import Links
import Logging
import SyncProtocol
import Transports

extension DunlinConfiguration {
  /// The options of the network.
  ///
  /// - Parameters:
  ///   - reporter: Has the logger.
  ///   - requiresProof: Whether peers must prove who they are.
  /// - Returns: The options.
  func networkOptions(_ reporter: Reporter, requiresProof: Bool) -> PeerNetwork.Options {
    var options = PeerNetwork.Options()
    options.logger = reporter.logger
    if let sessions { options.limits = ConnectionLimits(sessions: sessions) }
    options.tcp.webAuthority = webAuthority
    options.tcp.proxies = webProxies
    options.device = PeerNetwork.Device(name: peerName.isEmpty ? HostName.own : peerName)
    #if TLS
      options.requiresProof = requiresProof
    #endif
    return options
  }
}
