import NIOConcurrencyHelpers
import SyncProtocol

/// A gate that lets nothing pass while sync is held, and otherwise answers as another one.
final class HeldGate: SyncGate {
  private struct State {
    var isHeld = false
    /// How often that has changed.
    var changes: UInt64 = 0
  }

  private let base: any SyncGate
  private let state = NIOLockedValueBox(State())

  init(_ base: any SyncGate) { self.base = base }

  var isHeld: Bool { state.withLockedValue { $0.isHeld } }

  /// Holds sync, or releases it.
  ///
  /// - Returns: Whether that is a change.
  func hold(_ holds: Bool) -> Bool {
    state.withLockedValue { state in
      guard state.isHeld != holds else { return false }
      state.isHeld = holds
      state.changes += 1
      return true
    }
  }

  func maySend(collection: String, to peer: PeerKind) -> Bool {
    !isHeld && base.maySend(collection: collection, to: peer)
  }

  func mayAccept(collection: String, from peer: PeerKind) -> Bool {
    !isHeld && base.mayAccept(collection: collection, from: peer)
  }

  var epoch: UInt64 { base.epoch &+ state.withLockedValue { $0.changes } }

  func fingerprint(toward peer: PeerKind) -> UInt64 {
    let fingerprint = base.fingerprint(toward: peer)
    return isHeld ? ~fingerprint : fingerprint
  }
}
