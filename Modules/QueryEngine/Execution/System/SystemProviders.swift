public import CRDTCore
import Synchronization

/// What layers above report about themselves in virtual collections.
public final class SystemProviders: Sendable {
  /// The documents of a collection as they are now.
  public typealias Provider = @Sendable () -> [[TextKey: Value]]

  private struct State {
    var connections: Provider = { [] }
    var facts: Provider = { [] }
  }

  private let state = Mutex(State())

  init() {}

  /// Sets the source of `system:data_sync_info`: a document for each connection.
  public func provideConnections(_ provider: @escaping Provider) {
    state.withLock { $0.connections = provider }
  }

  /// Adds a source to `system:system_info`: documents with `namespace`, `key` and `value`.
  public func provideFacts(_ provider: @escaping Provider) { state.withLock { $0.facts = provider } }

  var connections: [[TextKey: Value]] { state.withLock { $0.connections }() }

  var facts: [[TextKey: Value]] { state.withLock { $0.facts }() }
}
