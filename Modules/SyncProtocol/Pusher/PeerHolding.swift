import Failpoints

/// What is known about the documents that the peer has under its interest.
struct PeerHolding {
  /// The states of this knowledge.
  enum State: Equatable {
    /// Nothing is known: the peer has to reconcile, or to resume from a checkpoint.
    case unknown
    /// Nothing is known, and no change is queued until the peer reconciles.
    ///
    /// There were too many changes, or they are unknown.
    case awaited
    /// The peer reconciles or follows the log.
    ///
    /// It may lack documents under the current interest and policy.
    case followed
    /// The peer was sent everything that concerns it.
    ///
    /// It certainly has everything up to the confirmed commit; `nil` if no commit is certain.
    case settled(confirmed: UInt64?)

    /// Whether a state may follow this one.
    func mayLead(to next: State) -> Bool {
      switch (self, next) {
      case (.unknown, .followed), (.awaited, .followed), (.followed, .settled), (.settled, .followed): true
      case (.settled, .settled): true
      case (.followed, .unknown), (.settled, .unknown): true
      case (.unknown, .awaited), (.awaited, .awaited), (.followed, .awaited), (.settled, .awaited): true
      case (.unknown, .unknown), (.unknown, .settled), (.awaited, .unknown), (.awaited, .settled): false
      case (.followed, .followed): false
      }
    }
  }

  private(set) var state = State.unknown

  /// Whether it is known what the peer has, since it reconciles or follows the log.
  var isKnown: Bool {
    switch state {
    case .unknown, .awaited: false
    case .followed, .settled: true
    }
  }

  /// Whether no change is queued until the peer reconciles.
  var isAwaited: Bool { state == .awaited }
  /// Whether everything that concerns the peer was sent once.
  var isSettled: Bool { if case .settled = state { true } else { false } }
  /// The commit up to which the peer has everything that concerns it and may be sent.
  ///
  /// It is 0 if this store had no commit yet.
  var confirmed: UInt64? { if case .settled(let sequence) = state { sequence } else { nil } }

  /// Goes on to the next state.
  private mutating func enter(_ next: State) {
    let state = state
    check(.transition, state.mayLead(to: next), phase: "holding \(state)", "it leads to \(next)")
    self.state = next
  }

  /// Records that the peer reconciles or follows the log.
  mutating func follow() { if !isKnown { enter(.followed) } }

  /// Records that everything that concerns the peer was sent once.
  mutating func settle() { if state == .followed { enter(.settled(confirmed: nil)) } }

  /// Records the commit up to which the peer certainly has everything; `nil` if that is no longer certain.
  mutating func confirm(_ sequence: UInt64?) { if isSettled { enter(.settled(confirmed: sequence)) } }

  /// Records that the interest or the policy changed, so that not everything may have been sent.
  mutating func unsettle() { if isSettled { enter(.followed) } }

  /// Treats what the peer has as unknown until it reconciles.
  mutating func doubt() { if isKnown { enter(.unknown) } }

  /// Queues no change until the peer reconciles: there were too many, or they are unknown.
  mutating func awaitReconciliation() { enter(.awaited) }
}
