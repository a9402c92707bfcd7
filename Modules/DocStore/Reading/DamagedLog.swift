/// A part of the log that cannot be read.
package struct DamagedLog: Hashable, Sendable {
  /// The first commit that the damaged part may describe; `nil` if that is unknown.
  package let first: UInt64?
  /// The first commit after the damaged part; `nil` if that is unknown.
  package let end: UInt64?

  /// The part of the log that a failed read hides; `nil` if the failure has another cause.
  package init?(_ failure: StoreError) {
    guard failure.code == .corrupt, failure.damagedTable == .log else { return nil }
    first = failure.damaged?.from.flatMap { LogKey($0.rawBytes)?.sequence }
    end = failure.damaged?.to.flatMap { LogKey($0.rawBytes)?.sequence }
  }
}
