/// Bounds of the protocol and of a session's memory.
package enum SyncLimits {
  /// The versions this release speaks.
  package static let versions: ClosedRange<UInt16> = 1...1
  /// The most that a frame's length field may say.
  package static let frameBytes = 128 << 10
  /// Bytes that a frame adds to its payload: length, type and checksum.
  package static let frameOverhead = 9
  /// Bytes of a peer's or an application's name in hello.
  package static let nameBytes = 256
  /// Encoded bytes of one subscription.
  package static let subscriptionBytes = 96 << 10
  /// Encoded bytes of all subscriptions of a peer.
  package static let interestBytes = 4 << 20
  /// Plain bytes of one group: a longer one is refused when it comes in.
  package static let groupBytes = 32 << 20
  /// Plain bytes from which on a sender cuts a group in parts.
  package static let splitBytes = 8 << 20
  /// The largest document that is ever sent, whatever the configuration says.
  package static let documentBytes = 16 << 20
  /// Plain bytes of a group in the stream of small ones; a longer one is a transfer of its own.
  package static let smallGroupBytes = 64 << 10
  /// Documents of one group.
  package static let groupDocuments = 65_536
  /// Plain bytes that wait at a receiver to be applied.
  package static let unappliedBytes = 80 << 20
  /// Plain bytes that a sender leaves unacknowledged, beside one group.
  package static let plainWindowBytes = 16 << 20
  /// Bounds of the bytes in flight.
  package static let windowBytes: ClosedRange<Int> = (8 << 10)...(8 << 20)
  /// Plain bytes that one transaction of a receiver applies, beside one group.
  package static let applyBytes = 4 << 20
  /// Documents that one transaction of a receiver applies, beside one group.
  package static let applyDocuments = 2_000
  /// Records that one call of a session visits.
  package static let recordsPerCall = 32_768
  /// Plain bytes that one call of a session packs.
  package static let bytesPerCall = 512 << 10
  /// Bytes of encoded large groups that wait for their turn, beside one.
  package static let waitingBytes = 16 << 20
  /// A range with at most this many documents at either end is listed.
  package static let listedDocuments = 32
  /// The parts into which a range is split.
  package static let splitParts = 16
  /// Ranges that a receiver has asked about and not heard of.
  package static let rangesInFlight = 256
  /// Questions that a peer may have open.
  package static let questions = 1_024
  /// Documents new here that wait for a filter.
  package static let waitingOffers = 16_384
  /// Documents that a peer may have asked for and not got, each with the elements of its vector.
  package static let wantedCost = 1 << 22
  /// Documents whose eviction is answered one by one; more are found by reconciliation.
  package static let evictedDocuments = 1_000
  /// Bytes of both records of a change for which the shortest form is tried.
  package static let successorRecordBytes = 128 << 10
  /// Documents that are written at both ends, before all are forgotten to be.
  package static let contendedDocuments = 4_096
  /// Documents that a peer told of and this one watches, before it watches all.
  package static let watchedDocuments = 1 << 18
}
