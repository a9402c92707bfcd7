/// What was rescued from a damaged store, and what was not.
public struct RescueReport: Sendable {
  /// Documents that the new store has, tombstones among them.
  public internal(set) var documentCount = 0
  /// Those among them that stood on pages which are damaged, or to which damaged ones should have led.
  public internal(set) var strayCount = 0
  /// Deletions of which the new store has the death certificate.
  public internal(set) var certificateCount = 0
  /// Entries that modules above had stored beside the documents.
  public internal(set) var sideEntryCount = 0
  /// Indexes that were built anew.
  public internal(set) var indexCount = 0
  /// What is damaged in the old store, and is missing in the new one as far as it was not found elsewhere.
  public internal(set) var damage = VerificationReport()
}
