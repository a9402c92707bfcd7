import CRDTCore
import DocStore

/// Work of the puller outside a reconciliation; it may take several calls.
enum PullTask {
  /// Send notices of the log after a sequence number; `told` counts the documents already sent.
  case ownLog(after: UInt64, told: Int)
}

extension Puller {
  func run(_ task: PullTask, budget: inout Int) throws(SyncError) {
    switch task {
    case .ownLog(let sequence, let told): try runOwnLog(after: sequence, told: told, budget: &budget)
    }
  }

  /// Returns requests for the listed documents that are held here under the interest in another state.
  func differing(_ items: [(collection: String, item: DocumentHash)]) throws(SyncError) -> [DocumentWant] {
    let interest = interest
    let gatekeeper = context.gatekeeper
    return try context.read { transaction in
      let sites = transaction.sites
      var wants: [DocumentWant] = []
      for (name, item) in items {
        guard let collection = try transaction.collection(name),
          let matcher = interest.matcher(for: collection)
        else { continue }
        try transaction.visitIntactRecord(collection, item.id, damaged: context.tellDamaged) {
          _, record, summary in
          let id = item.id.bytes.span.bytes
          guard matcher.matches(id, record), Fingerprint.hash(id: id, summary: summary) != item.hash else {
            return
          }
          let version = DocumentVersion(
            collection: name, id: item.id, vector: try record.vector(sites: sites))
          wants.append(DocumentWant(version, isHeld: true, gatekeeper))
        }
      }
      return wants
    }
  }
}
