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
  package static let subscriptionBytes = 64 << 10
  /// Encoded bytes of all subscriptions of a peer.
  package static let interestBytes = 4 << 20
  /// Plain bytes of one group; a larger one is sent in parts, and refused when it comes in.
  package static let groupBytes = 16 << 20
  /// Documents of one group.
  package static let groupDocuments = 65_536
  /// Plain bytes that wait at a receiver to be applied.
  package static let unappliedBytes = 48 << 20
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
  /// A range with at most this many documents at either end is listed.
  package static let listedDocuments = 32
  /// The parts into which a range is split.
  package static let splitParts = 16
  /// Ranges that a receiver has asked about and not heard of.
  package static let rangesInFlight = 256
  /// Documents that a peer may have asked for and not got.
  package static let wantedDocuments = 1 << 20
  /// Documents that a peer told of and this one watches, before it watches all.
  package static let watchedDocuments = 1 << 18
}
