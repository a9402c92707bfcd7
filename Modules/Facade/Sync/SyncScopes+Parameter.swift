import CRDTCore
import QueryEngine
import ScopePolicy
import Transports

extension SyncScopes {
  /// Registers the parameter for sync scopes; a change affects outgoing documents at once.
  func govern(_ parameters: SystemParameters, _ network: PeerNetwork, _ reporter: Reporter) throws {
    let check = SyncScopes()
    parameters.register(
      "user_collection_sync_scopes", default: .map([:]),
      validate: { value in try check.set(value) },
      onChange: { value in
        do {
          try self.set(value)
        } catch {
          reporter.fail("changing sync scopes", error)
        }
        network.policyChanged()
      })
  }
}
