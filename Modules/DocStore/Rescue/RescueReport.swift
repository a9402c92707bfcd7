/// What was rescued from a damaged store, and what was not.
public struct RescueReport: Sendable {
  /// Documents that the new store has, including tombstones.
  public internal(set) var documentCount = 0
  /// Those that were on damaged pages, or on pages that only damaged pages referred to.
  public internal(set) var strayCount = 0
  /// Compacted tombstones that the new store has.
  public internal(set) var certificateCount = 0
  /// Entries of other modules' side tables.
  public internal(set) var sideEntryCount = 0
  /// Indexes that were built again.
  public internal(set) var indexCount = 0
  /// What is damaged in the old store; it is missing in the new one, unless it was found elsewhere.
  public internal(set) var damage = VerificationReport()
}
