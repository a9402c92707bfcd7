/// How far a pull has come: what has arrived, and what is to be expected as far as the sender knows.
///
/// A pull begins with new subscriptions or with a session. It is over once everything that the peer had for
/// the subscriptions is here. The numbers count from its beginning. Changes that come after its end do not
/// count, so the numbers of the last pull stay until the next one begins.
public struct PullProgress: Hashable, Sendable {
  /// How many documents have arrived; it never decreases within a pull.
  public var documentsReceived: UInt64 = 0
  /// How many bytes these documents took before compression; it never decreases within a pull.
  public var bytesReceived: UInt64 = 0
  /// How many documents will have arrived at the end, never less than have arrived.
  ///
  /// `nil` while nothing is known of that, for example from a peer of an earlier release.
  public var documentsExpected: UInt64?
  /// About how many bytes will have arrived at the end, by the average of the documents so far.
  ///
  /// `nil` before the first document, and as long as ``documentsExpected`` is.
  public var bytesExpected: UInt64?
  /// Whether the expected numbers may still change; `false` at the latest when the pull is over.
  ///
  /// Documents that are written meanwhile may change them even so.
  public var isEstimate = true
  /// The part that has arrived, from 0 to 1; it never decreases within a pull, and is 1 only at its end.
  public var fractionCompleted = 0.0

  /// Makes the progress of a pull that has not begun.
  public init() {}
}

/// Measures a pull.
struct PullMeter {
  /// The part that has arrived stays below this until the pull is over.
  private static let mostOfUnfinished = 0.99

  private(set) var progress = PullProgress()
  private var isRunning = false
  /// What the session had received when the pull began.
  private var before: (documents: UInt64, bytes: UInt64) = (0, 0)
  /// How many documents of the pull had arrived when the current reconciliation began.
  private var beforeReconciliation: UInt64 = 0
  /// The sender's latest forecast in the current reconciliation.
  private var forecast: ForecastFrame?

  /// What the receiver knows at one moment.
  struct Reading {
    let documents: UInt64
    let bytes: UInt64
    /// How many documents the reconciliation has found to be missing, those of forecasts excluded.
    let found: UInt64
    /// Whether documents come of which only a forecast says how many.
    let isOpenEnded: Bool
    /// Whether all questions and requests are sent.
    let isSettling: Bool
    /// Whether nothing is being pulled.
    let isDone: Bool
  }

  /// Records that a reconciliation begins: what is known of the former one has arrived or is found again.
  mutating func beginReconciliation() {
    beforeReconciliation = isRunning ? progress.documentsReceived : 0
    forecast = nil
  }

  /// Records a forecast of the current reconciliation, which replaces the one before.
  mutating func receive(_ frame: ForecastFrame) { forecast = frame }

  /// Records the state after a step of the session.
  mutating func note(_ now: Reading) {
    guard isRunning || !now.isDone else { return }
    if !isRunning {
      isRunning = true
      before = (now.documents, now.bytes)
      beforeReconciliation = 0
      progress = PullProgress()
    }
    progress.documentsReceived = now.documents - before.documents
    progress.bytesReceived = now.bytes - before.bytes
    if now.isDone { end() } else { expect(now) }
  }

  private mutating func end() {
    isRunning = false
    progress.documentsExpected = progress.documentsReceived
    progress.bytesExpected = progress.bytesReceived
    progress.isEstimate = false
    progress.fractionCompleted = 1
  }

  private mutating func expect(_ now: Reading) {
    let isForecastMissing = now.isOpenEnded && forecast == nil
    progress.isEstimate = !now.isSettling || isForecastMissing || forecast?.isEstimate ?? false
    let missing = now.found.adding(forecast?.documents ?? 0)
    guard missing > 0 && !isForecastMissing || !progress.isEstimate || progress.documentsExpected != nil
    else { return }
    let expected = max(beforeReconciliation.adding(missing), progress.documentsReceived)
    progress.documentsExpected = expected
    guard progress.documentsReceived > 0 else { return }
    let share = Double(progress.documentsReceived) / Double(expected)
    progress.fractionCompleted = max(progress.fractionCompleted, min(share, Self.mostOfUnfinished))
    let bytes = Double(progress.bytesReceived) / share
    progress.bytesExpected = max(UInt64(min(bytes, 0x1p62)), progress.bytesReceived)
  }
}
