/// A part of the log that cannot be read.
package struct DamagedLog: Hashable, Sendable {
  /// The first commit that it may tell of; `nil` where that is not known.
  package let first: UInt64?
  /// The first commit behind it; `nil` where that is not known.
  package let end: UInt64?

  /// What of the log is behind a failed read; `nil` where it failed for something else.
  package init?(_ failure: StoreError) {
    guard failure.code == .corrupt, failure.damagedTable == .log else { return nil }
    first = failure.damaged?.from.flatMap { LogKey($0.rawBytes)?.sequence }
    end = failure.damaged?.to.flatMap { LogKey($0.rawBytes)?.sequence }
  }
}
