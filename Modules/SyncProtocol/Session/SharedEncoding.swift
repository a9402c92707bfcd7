package import CRDTCore
package import DocStore
import Synchronization

/// A cache of operation deltas for recent changes.
///
/// The first session that sends an operation delta makes it, and the others reuse it.
///
/// An operation delta does not depend on its receiver. Each session checks for itself whether it may send it.
package final class SharedEncoding: Sendable {
  private struct Name: Hashable {
    let sequence: UInt64
    let document: DocumentKey
  }

  private struct State {
    var sessions: Set<UInt64> = []
    /// `nil` for a change without an operation delta.
    var forms: [Name: WireOperationDelta?] = [:]
    /// The previous generation of the cache, which is also searched.
    var former: [Name: WireOperationDelta?] = [:]
  }

  /// The maximum size of each generation.
  private static let most = 4_096
  /// Longer operation deltas are not cached: making them again costs as little.
  private static let mostBytes = 1 << 10
  private let state = Mutex(State())

  package init() {}

  package func join(_ session: UInt64) { state.withLock { _ = $0.sessions.insert(session) } }

  package func leave(_ session: UInt64) {
    state.withLock { state in
      guard state.sessions.remove(session) != nil, state.sessions.count < 2 else { return }
      (state.forms, state.former) = ([:], [:])
    }
  }

  /// Returns the operation delta of a document's change in commit `sequence`.
  ///
  /// It calls `make` if the operation delta is not cached.
  ///
  /// Two concurrent sessions may both call `make`.
  ///
  /// - Returns: What `make` returns.
  /// - Throws: What `make` throws.
  package func form(
    of document: DocumentKey, in sequence: UInt64, _ make: () throws(SyncError) -> WireOperationDelta?
  ) throws(SyncError) -> WireOperationDelta? {
    guard state.withLock({ $0.sessions.count > 1 }) else { return try make() }
    let name = Name(sequence: sequence, document: document)
    if let known = state.withLock({ $0.forms[name] ?? $0.former[name] }) { return known }
    let form = try make()
    state.withLock { state in
      guard state.sessions.count > 1, form?.bytes.count ?? 0 <= Self.mostBytes else { return }
      if state.forms.count >= Self.most { (state.former, state.forms) = (state.forms, [:]) }
      state.forms[name] = .some(form)
    }
    return form
  }
}
