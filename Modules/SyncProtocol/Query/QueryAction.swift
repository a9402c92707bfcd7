import CRDTCore

/// An action for statements between peers.
public enum QueryAction: Sendable {
  /// Run the job on a thread that may block, and pass its pieces to `Session.queried`.
  ///
  /// Only if the configuration answers statements.
  case run(QueryJob)
  /// Rows of the question with this number, and the bytes of its answer received so far.
  ///
  /// Report the bytes that were processed with `Session.consumedRows`.
  case rows(UInt64, [QueryRow], received: UInt64)
  /// The answer to the question with this number has ended.
  case ended(UInt64, QueryEnd)
}
