import DocStore

/// What went out in answers, and which groups of the peer were begun before it was there.
///
/// A large group takes its time over a slow link. What it says of a document is from before what has crossed it: two
/// peers that answered each other on that would send the same to and fro.
struct UnderWay {
  private struct State {
    /// Of the document as the peer gets it.
    var hash: UInt64
    /// What the latest group with it is called.
    var group: UInt64
    /// Whether the peer comes to that by merging what was sent with what it has brought itself.
    var isMet = false
  }

  private let limit: Int
  private var states: [DocumentKey: State] = [:]
  /// Groups that the peer has applied, with how many of its frames had come by then.
  private var applied: [UInt64: UInt64] = [:]

  init(limit: Int) { self.limit = limit }

  var isEmpty: Bool { states.isEmpty }

  func contains(_ key: DocumentKey) -> Bool { states[key] != nil }

  /// Takes note that a document goes out as it is.
  mutating func insert(_ key: DocumentKey, hash: UInt64, group: UInt64) {
    if states.count >= limit { forgetApplied() }
    if states.count >= limit { removeAll() }
    states[key] = State(hash: hash, group: group)
  }

  /// Follows a document to its next state, if the peer gets that with a group.
  mutating func follow(_ key: DocumentKey, from before: UInt64?, to after: UInt64?, group: UInt64) {
    guard let state = states[key] else { return }
    guard let before, let after, state.hash == before else {
      states[key] = nil
      return
    }
    states[key] = State(hash: after, group: group)
  }

  /// Takes note that what the peer has sent of a document was merged here: it merges the same, when what was sent is there.
  mutating func meet(_ key: DocumentKey, from before: UInt64?, to after: UInt64?) {
    guard let state = states[key], !(state.isMet && state.hash == after) else { return }
    guard let before, let after, state.hash == before else {
      states[key] = nil
      return
    }
    states[key] = State(hash: after, group: state.group, isMet: true)
  }

  /// Takes note of what the peer has applied, when so many of its frames have come.
  mutating func applied(_ groups: [UInt64], frames: UInt64) {
    guard !states.isEmpty else { return }
    for group in groups where group != 0 { applied[group] = applied[group] ?? frames }
    if applied.count > limit { forgetApplied() }
  }

  /// Whether the state of a document is what went out last.
  func holds(_ key: @autoclosure () -> DocumentKey, hash: @autoclosure () -> UInt64) -> Bool {
    !states.isEmpty && states[key()]?.hash == hash()
  }

  /// Whether the peer had not applied the state of a document when it began a group with that frame.
  func covers(_ key: DocumentKey, hash: UInt64, begunWith frame: UInt64) -> Bool {
    guard let state = states[key], state.hash == hash else { return false }
    return isAhead(of: frame, state)
  }

  /// What the peer comes to of a document by merging what it has brought with what it had not applied when it began a group
  /// with that frame; `nil` where that is not so.
  ///
  /// Where removals were forgotten it comes to something else.
  func meeting(_ key: DocumentKey, begunWith frame: UInt64) -> UInt64? {
    guard let state = states[key], state.isMet, isAhead(of: frame, state) else { return nil }
    return state.hash
  }

  private func isAhead(of frame: UInt64, _ state: State) -> Bool {
    applied[state.group].map { frame <= $0 } ?? true
  }

  /// Forgets a group that goes out in another form, or not at all.
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
