import SyncProtocol
import Transports

extension PeerSyncState {
  /// What this device still lacks of the peer's data for a set of subscriptions; `nil` if nothing.
  func missingHere(_ number: UInt64) -> String? {
    if let damage { return damage }
    let withheld = connection.progress.documentsWithheldByPeer
    guard withheld == 0 else {
      return "\(Self.documents(withheld)) at \(peer.name) cannot be sent, being too large"
    }
    guard caughtUpNumber < number else { return nil }
    let received = Self.documents(Int(clamping: connection.statistics.documentsReceived))
    return "not all that \(peer.name) has is here, of which \(received) came so far"
  }

  /// What the peer still lacks of the commits up to one, as far as it subscribes to them.
  ///
  /// - Parameters:
  ///   - sequence: The commit.
  ///   - withheld: How many of these documents are too large to be sent.
  /// - Returns: A text; `nil` if the peer lacks nothing.
  func missingThere(_ sequence: UInt64, withheld: Int) -> String? {
    if let damage { return damage }
    guard let served = delivery.servedSequence else { return "\(peer.name) is still being compared with" }
    guard served >= sequence else { return "\(peer.name) has all up to commit \(served) of \(sequence)" }
    guard withheld == 0 else {
      return "\(Self.documents(withheld)) cannot be sent to \(peer.name), being too large"
    }
    return nil
  }

  private var damage: String? {
    guard connection.progress.isAnythingUnreadable else { return nil }
    return "\(peer.name) or this peer cannot read, or take in, all documents"
  }

  private static func documents(_ count: Int) -> String { count == 1 ? "1 document" : "\(count) documents" }
}
