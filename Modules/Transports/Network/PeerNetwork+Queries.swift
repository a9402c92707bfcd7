import CRDTCore
import NIOConcurrencyHelpers
package import SyncProtocol

extension PeerNetwork {
  /// Asks a connected peer to run a statement.
  ///
  /// - Parameters:
  ///   - question: The statement.
  ///   - peer: The text of the peer's site.
  /// - Returns: The rows, as they arrive; `nil` when the peer is not connected.
  package func ask(_ question: QueryQuestion, of peer: String) -> RemoteRows? {
    let driver = state.withLockedValue { state in
      state.sessions.values.first { $0.admittedPeer?.site.description == peer }?.driver
    }
    return driver?.ask(question)
  }
}
