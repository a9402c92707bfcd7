import CRDTCore
import DocStore

/// What the sender knows of the documents that it will send without requests.
struct StreamForecast: Equatable {
  /// The documents of all walks so far.
  fileprivate var documents: UInt64 = 0
  fileprivate var isEstimate = false

  /// The part of one walk.
  struct Share {
    /// The living documents of the collection when the walk began.
    let total: UInt64
    /// How many of them are expected to match.
    fileprivate(set) var documents: UInt64
    /// How many records the walk has visited, and how many of them match.
    var visited: UInt64 = 0
    var matched: UInt64 = 0
    /// After how many visited records the share is corrected; `nil` where all documents match.
    fileprivate var correctedAt: UInt64?
  }
}

/// Telling the receiver how much is to come.
extension ReconciliationServer {
  /// Adds the documents of a collection that is sent as a whole to the forecast.
  ///
  /// - Parameter collection: The collection, which concerns the peer.
  /// - Returns: The part of its walk; `nil` for a collection that must not leave or is not there.
  /// - Throws: An error of the store.
  func addForecast(of collection: String) throws(SyncError) -> StreamForecast.Share? {
    guard context.gatekeeper?.maySend(collection) ?? false else { return nil }
    let (interest, context) = (peer.interest, context)
    let share = try context.read { snapshot -> StreamForecast.Share? in
      guard let info = try snapshot.collections().first(where: { $0.name.isSame(as: collection) }),
        let known = try snapshot.collection(collection), let matcher = interest.matcher(for: known)
      else { return nil }
      let total = UInt64(info.documentCount)
      return StreamForecast.Share(
        total: total, documents: total,
        correctedAt: matcher.matchesAll ? nil : SyncLimits.forecastCorrection)
    }
    guard let share else { return nil }
    reconciliation.forecast.documents += share.documents
    if share.correctedAt != nil { reconciliation.forecast.isEstimate = true }
    return share
  }

  /// Corrects the forecast by what a walk has found so far, each time that it has visited twice as much.
  func correctForecast(by walk: inout StreamWalk) {
    guard var share = walk.share, let point = share.correctedAt, share.visited >= point else { return }
    let documents = share.total.multiplied(by: share.matched) / share.visited
    let old = share.documents
    share.documents = min(documents, share.total)
    share.correctedAt = point.multiplied(by: 2)
    reconciliation.forecast.documents = reconciliation.forecast.documents - old + share.documents
    walk.share = share
    sendForecast()
  }

  /// Sends the forecast, unless it is of so few documents that they are there as soon.
  func sendForecast() {
    let forecast = reconciliation.forecast
    guard forecast.documents >= SyncLimits.forecastDocuments else { return }
    let frame = ForecastFrame(
      reconciliation: reconciliation.number, documents: forecast.documents, isEstimate: forecast.isEstimate)
    context.send(.forecast) { frame.encode(to: &$0) }
  }
}
