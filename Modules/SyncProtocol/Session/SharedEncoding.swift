package import CRDTCore
package import DocStore
import Synchronization

/// The shortest forms of late changes, made by the first session that sends one and taken over by the others.
///
/// A form says what was written on top of a state, and nothing of whom it is for. Whether it may leave each session
/// asks for itself.
package final class SharedEncoding: Sendable {
  private struct Name: Hashable {
    let sequence: UInt64
    let document: DocumentKey
  }

  private struct State {
    var sessions: Set<UInt64> = []
    /// `nil` for a change that has no such form.
    var forms: [Name: WireSuccessor?] = [:]
    /// Those of before, among which is looked, too.
    var former: [Name: WireSuccessor?] = [:]
  }

  /// Forms that are kept, twice.
  private static let most = 4_096
  /// Longer ones are as well made again.
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

  /// The form of a document's change in the group `sequence`, which `make` makes if nobody has; two sessions at once
  /// may both do so.
  ///
  /// - Returns: What `make` returns.
  /// - Throws: What `make` throws.
  package func form(
    of document: DocumentKey, in sequence: UInt64, _ make: () throws(SyncError) -> WireSuccessor?
  ) throws(SyncError) -> WireSuccessor? {
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
