/// What a sender says of everything that it has queued before: the receiver has to know that first.
///
/// This is rule 1 in `Documentation/Sync.md`.
enum SentNotice {
  /// Documents that the peer may hold although they do not match here.
  case offers([DocumentOffer])
  /// Everything that the reconciliation with this number found to be missing is sent.
  case settled(round: UInt64)
  /// Everything up to a position in the log is sent.
  case mark(CheckpointMessages.Mark)
  /// The peer must reconcile everything again.
  case renew
}
