import DocStore
import Foundation
import SyncProtocol

extension DunlinConfiguration {
  /// The wall clock in milliseconds since 1970.
  ///
  /// A time before 1970, and one that is not a number, counts as 0.
  var milliseconds: @Sendable () -> UInt64 {
    guard let clock else { return StoreOptions.systemMilliseconds }
    return {
      let seconds = clock().timeIntervalSince1970
      return seconds > 0 ? UInt64(min(seconds, 1e12) * 1_000) : 0
    }
  }

  /// The options of the store.
  ///
  /// - Throws: What is wrong with them.
  func storeOptions(_ reporter: Reporter) throws(StoreError) -> StoreOptions {
    var options = StoreOptions(
      mapBytes: mapBytes, now: milliseconds, log: { reporter.log($0, $1) },
      transactionDeadline: transactionDeadline)
    if reporter.isConsole { options.sizeWarning = StoreOptions.standardOutput }
    options.readerDeadline = snapshotDeadline
    options.trustsCopies = trustsCopies
    options.isReadOnly = isReadOnly
    if peerKind == .big {
      // Devices return to the big peer after an absence of any length, and it has the room for tombstones.
      options.tombstoneLifetime = .seconds(30 * 86_400)
      options.certificateLifetime = nil
    }
    if let deletionLifetimes {
      (options.tombstoneLifetime, options.certificateLifetime) = deletionLifetimes
    }
    try options.check()
    return options
  }
}
