import CRDTCore
import DocStore

/// What the sender knows of the documents that it will send without requests.
struct StreamForecast {
  /// The documents of all collections that are sent as wholes.
  fileprivate(set) var documents: UInt64 = 0
  fileprivate var isEstimate = false
  /// The parts of the collections of which not all documents match.
  fileprivate var shares: [TextKey: Share] = [:]

  /// The part of one collection.
  fileprivate struct Share {
    /// The living documents of the collection when the walk began.
    let total: UInt64
    /// How many of them are expected to match.
    var documents: UInt64
    /// How many records the walk has visited, and how many of them match.
    var visited: UInt64 = 0
    var matched: UInt64 = 0
    /// After how many visited records the part is corrected.
    var correctedAt = SyncLimits.forecastCorrection
  }
}

/// Telling the receiver how much is to come.
extension ReconciliationServer {
  /// Adds the documents of a collection that is sent as a whole to the forecast.
  ///
  /// A collection that must not leave, or is not there, adds nothing.
  func addForecast(of collection: String) throws(SyncError) {
    guard context.gatekeeper?.maySendAll(collection) ?? false else { return }
    let interest = peer.interest
    let found = try context.read { snapshot -> (total: UInt64, matchesAll: Bool)? in
      guard let info = try snapshot.collections().first(where: { $0.name.isSame(as: collection) }),
        let known = try snapshot.collection(collection), let matcher = interest.matcher(for: known)
      else { return nil }
      return (UInt64(info.documentCount), matcher.matchesAll)
    }
    guard let (total, matchesAll) = found else { return }
    reconciliation.forecast.documents += total
    guard !matchesAll else { return }
    reconciliation.forecast.isEstimate = true
    reconciliation.forecast.shares[TextKey(collection)] = StreamForecast.Share(
      total: total, documents: total)
  }

  /// Corrects the forecast by what a walk has found, each time that it has visited twice as much.
  func correctForecast(of collection: String, visited: UInt64, matched: UInt64) {
    let key = TextKey(collection)
    guard visited > 0, var share = reconciliation.forecast.shares[key] else { return }
    share.visited += visited
    share.matched += matched
    defer { reconciliation.forecast.shares[key] = share }
    guard share.visited >= share.correctedAt else { return }
    share.correctedAt = share.visited.multiplied(by: 2)
    let documents = min(share.total.multiplied(by: share.matched) / share.visited, share.total)
    reconciliation.forecast.documents = reconciliation.forecast.documents - share.documents + documents
    share.documents = documents
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
