/// What is known about the documents that the peer has under its interest.
enum PeerHolding: Equatable {
  /// Nothing is known: the peer has to reconcile, or to resume from a checkpoint.
  case unknown
  /// Nothing is known, and no change is queued until the peer reconciles: there were too many changes, or
  /// they are unknown.
  case awaited
  /// The peer reconciles or follows the log.
  ///
  /// It may lack documents under the current interest and policy.
  case followed
  /// The peer was sent everything that concerns it, and certainly has it up to the confirmed commit; `nil`
  /// if none is certain.
  case settled(confirmed: UInt64?)

  /// Whether it is known what the peer has, since it reconciles or follows the log.
  var isKnown: Bool {
    switch self {
    case .unknown, .awaited: false
    case .followed, .settled: true
    }
  }

  var isSettled: Bool { if case .settled = self { true } else { false } }
  /// The commit up to which the peer has everything that concerns it and may be sent.
  var confirmed: UInt64? { if case .settled(let sequence) = self { sequence } else { nil } }

  /// Records that the peer reconciles or follows the log.
  mutating func follow() { if !isKnown { self = .followed } }

  /// Records that everything that concerns the peer was sent once.
  mutating func settle() { if self == .followed { self = .settled(confirmed: nil) } }

  /// Records the commit up to which the peer certainly has everything; `nil` when that is no longer
  /// certain.
  mutating func confirm(_ sequence: UInt64?) { if isSettled { self = .settled(confirmed: sequence) } }

  /// Records that the interest or the policy changed, so that not everything may have been sent.
  mutating func unsettle() { if isSettled { self = .followed } }

  /// Treats what the peer has as unknown until it reconciles.
  mutating func doubt() { if isKnown { self = .unknown } }
}
