/// What is known of what the peer has under its interest.
enum PeerHolding: Equatable {
  /// Nothing: it has to reconcile, or to go on from a checkpoint.
  case unknown
  /// Nothing, and no change is queued until it reconciles: there were too many, or nobody knows any more what they were.
  case awaited
  /// It reconciles, or follows the log; it may not have been sent all that concerns it by the rules of now.
  case followed
  /// It was sent all that concerned it, and has all of that up to a commit, as far as that was ever certain.
  case settled(confirmed: UInt64?)

  /// Whether it is known what the peer has: it is compared, or followed.
  var isKnown: Bool {
    switch self {
    case .unknown, .awaited: false
    case .followed, .settled: true
    }
  }

  var isSettled: Bool { if case .settled = self { true } else { false } }
  /// The commit up to which the peer has all that concerns it and can be sent.
  var confirmed: UInt64? { if case .settled(let sequence) = self { sequence } else { nil } }

  /// Takes note that the peer reconciles, or follows the log.
  mutating func follow() { if !isKnown { self = .followed } }

  /// Takes note that all that concerns the peer was sent once.
  mutating func settle() { if self == .followed { self = .settled(confirmed: nil) } }

  /// Takes note of what the peer certainly has; `nil` where that is not certain any more.
  mutating func confirm(_ sequence: UInt64?) { if isSettled { self = .settled(confirmed: sequence) } }

  /// Takes note that other rules hold, under which not all may have been sent.
  mutating func unsettle() { if isSettled { self = .followed } }

  /// Takes what the peer has for unknown until it reconciles.
  mutating func doubt() { if isKnown { self = .unknown } }
}
