/// A frame that the sender sends after all transactions that it queued before.
///
/// The receiver needs these transactions first.
///
/// This is rule 1 in `Documentation/Sync.md`.
enum SentNotice {
  /// Documents that the peer may hold although they do not match here.
  case offers([DocumentOffer])
  /// Documents that the peer may not read, and has.
  case withdrawals([Withdrawal])
  /// Everything that the reconciliation with this number found to be missing is sent.
  case settled(reconciliation: UInt64)
  /// Everything up to a position in the log is sent.
  case mark(CheckpointMessages.Mark)
  /// The peer must reconcile everything again.
  case renew

  #if DEBUG || SIMULATION
    /// The frame that it becomes.
    var frameType: FrameType {
      switch self {
      case .offers: .offer
      case .withdrawals: .withdraw
      case .settled: .settled
      case .mark: .mark
      case .renew: .renew
      }
    }
  #endif
}
