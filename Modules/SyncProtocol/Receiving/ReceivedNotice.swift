/// A frame that the receiver processes after it has applied all transactions that came before.
///
/// This is rule 1 in `Documentation/Sync.md`.
enum ReceivedNotice {
  case offers([DocumentOffer])
  case withdrawals([Withdrawal])
  case announcement(Announcement)
  case settled(reconciliation: UInt64)
  /// A high-water mark.
  ///
  /// `own` is the position in this peer's own log up to which the sender had everything when the mark
  /// arrived. The sender had queued all its answers to that.
  case mark(MarkFrame, own: UInt64)
  case renew

  /// The number of documents that it names.
  var documentCount: Int {
    switch self {
    case .offers(let offers): offers.count
    case .withdrawals(let withdrawals): withdrawals.count
    case .announcement(let announcement): announcement.transactions.reduce(0) { $0 + $1.count }
    case .settled, .mark, .renew: 0
    }
  }
}
