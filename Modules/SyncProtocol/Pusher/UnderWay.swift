import DocStore

/// The documents in flight, and how far the peer has applied them.
///
/// A large group of the peer takes long over a slow link. It may contain documents older than what this
/// peer sent meanwhile. Two peers that answered such outdated states would send the same documents back and
/// forth.
struct UnderWay {
  private struct State {
    /// Hash of the state that the peer receives.
    var hash: UInt64
    /// The name of the latest group that contains the document.
    var group: UInt64
    /// Whether the peer converges on this state by merging what was sent with its own write.
    var isMet = false
  }

  private let limit: Int
  private var states: [DocumentKey: State] = [:]
  /// Groups that the peer has applied, each with the number of its frames that had arrived by then.
  private var applied: [UInt64: UInt64] = [:]

  init(limit: Int) { self.limit = limit }

  var isEmpty: Bool { states.isEmpty }

  func contains(_ key: DocumentKey) -> Bool { states[key] != nil }

  /// Records that a document is sent in this state.
  mutating func insert(_ key: DocumentKey, hash: UInt64, group: UInt64) {
    if states.count >= limit { forgetApplied() }
    if states.count >= limit { removeAll() }
    states[key] = State(hash: hash, group: group)
  }

  /// Advances a document in flight to its next state, or forgets it when the peer is not sent that state.
  mutating func follow(_ key: DocumentKey, from before: UInt64?, to after: UInt64?, group: UInt64) {
    guard let state = states[key] else { return }
    guard let before, let after, state.hash == before else {
      states[key] = nil
      return
    }
    states[key] = State(hash: after, group: group)
  }

  /// Records that a document of the peer was merged here: the peer computes the same state once it has what
  /// is in flight.
  mutating func meet(_ key: DocumentKey, from before: UInt64?, to after: UInt64?) {
    guard let state = states[key], !(state.isMet && state.hash == after) else { return }
    guard let before, let after, state.hash == before else {
      states[key] = nil
      return
    }
    states[key] = State(hash: after, group: state.group, isMet: true)
  }

  /// Records the groups that the peer has applied, and how many of its frames had arrived by then.
  mutating func applied(_ groups: [UInt64], frames: UInt64) {
    guard !states.isEmpty else { return }
    for group in groups where group != 0 { applied[group] = applied[group] ?? frames }
    if applied.count > limit { forgetApplied() }
  }

  /// Whether a document's state is the one that was sent last.
  func holds(_ key: @autoclosure () -> DocumentKey, hash: @autoclosure () -> UInt64) -> Bool {
    !states.isEmpty && states[key()]?.hash == hash()
  }

  /// Whether the peer had not yet applied this state when it sent the first frame of its group.
  func covers(_ key: DocumentKey, hash: UInt64, begunWith frame: UInt64) -> Bool {
    guard let state = states[key], state.hash == hash else { return false }
    return isAhead(of: frame, state)
  }

  /// Returns the hash of the state on which the peer converges by itself; `nil` if it does not.
  ///
  /// It converges if it began its group, at that frame, before it applied what is in flight: it merges
  /// both. If tombstones were forgotten, it may reach another state.
  func meeting(_ key: DocumentKey, begunWith frame: UInt64) -> UInt64? {
    guard let state = states[key], state.isMet, isAhead(of: frame, state) else { return nil }
    return state.hash
  }

  private func isAhead(of frame: UInt64, _ state: State) -> Bool {
    applied[state.group].map { frame <= $0 } ?? true
  }

  /// Forgets a group that is sent in another form, or not at all.
  mutating func remove(group: UInt64) {
    guard !states.isEmpty else { return }
    states = states.filter { $0.value.group != group }
  }

  mutating func removeAll() {
    states = [:]
    applied = [:]
  }

  private mutating func forgetApplied() {
    states = states.filter { applied[$0.value.group] == nil }
    applied = [:]
  }
}
