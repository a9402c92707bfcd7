import CRDTCore
import Foundation
import SyncProtocol
import Transports

extension PeerConnection {
  /// The row of this connection in `system:data_sync_info`, for a date and a moment of the network's clock.
  func row(_ now: (date: Date, moment: Duration)) -> [TextKey: Value] {
    var documents: [TextKey: Value] = [
      "sync_session_status": .string(peer == nil ? "Not Connected" : "Connected"),
      "is_caught_up": .bool(progress.isCaughtUp),
      "has_unreadable_documents": .bool(progress.isAnythingUnreadable),
      "has_withheld_documents": .bool(progress.isAnythingWithheld),
      "sent": .int(Int64(clamping: statistics.documentsSent)),
      "received": .int(Int64(clamping: statistics.documentsReceived)),
      "changed": .int(Int64(clamping: statistics.documentsChanged)),
    ]
    if let confirmed = progress.confirmedSequence {
      documents["synced_up_to_local_commit_id"] = .int(Int64(clamping: confirmed))
    }
    if let lastUpdate = progress.lastUpdate {
      let time = now.date.addingTimeInterval(-((now.moment - lastUpdate) / .seconds(1)))
      documents["last_update_received_time"] = .int(Int64(time.timeIntervalSince1970 * 1_000))
    }
    return [
      "_id": .string(peer.map { "\($0.site)" } ?? "\(endpoint)"),
      "is_server": .bool(peer?.kind == .big),
      "peer_name": .string(peer?.name ?? ""), "address": .string("\(endpoint)"),
      "documents": .map(documents),
    ]
  }
}
