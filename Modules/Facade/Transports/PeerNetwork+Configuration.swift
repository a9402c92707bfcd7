import Links
import Logging
import ScopePolicy
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
    options.isolationDelay = isolationDelay
    if let sessions { options.limits = ConnectionLimits(sessions: sessions) }
    options.tcp.webAuthority = webAuthority
    options.tcp.proxies = webProxies
    options.device = PeerNetwork.Device(name: peerName.isEmpty ? HostName.own : peerName)
    #if TLS
      options.requiresProof = requiresProof
      options.access = { (texts, identity) throws(GrantRefusal) in
        do throws(RulesError) {
          return try PeerAccess(grant: texts.grant, rules: texts.rules, user: identity.user)
        } catch {
          throw GrantRefusal(error.message)
        }
      }
      options.canHold = revocationsNeededWithin != nil
    #endif
    return options
  }
}
