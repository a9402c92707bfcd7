import DocStore

extension ReadTransaction {
  /// Returns those documents of a transaction that a peer may read and that are still stored.
  ///
  /// Others bind nothing: two documents that share only such a one with a transaction would otherwise be sent
  /// together, which shows it.
  ///
  /// - Parameters:
  ///   - runs: The documents.
  ///   - access: What the peer may read.
  ///   - visits: Grows by the number of documents that were looked at.
  /// - Returns: The runs of the documents.
  /// - Throws: What reading throws.
  /// - Complexity: O(1) for a peer that may read everything, else O(*n*) in the documents of collections that
  ///   it may read in part.
  borrowing func readable(
    _ runs: [DocumentRun], by access: PeerAccess, visits: inout Int
  ) throws -> [DocumentRun] {
    guard access.reading != .everything else { return runs }
    var found: [DocumentRun] = []
    var count = 0
    for run in runs {
      guard let collection = try collection(number: run.collection),
        var rule = access.partialRule(of: collection.name)
      else {
        found.append(run)
        continue
      }
      rule.resolve(collection.keys)
      var places: [StoredPlace] = []
      // Who sends the document reports its damage.
      try forEachIntactRecord(in: collection, numbers: run.numbers, damaged: { _ in }) {
        number, id, _, record in
        count += 1
        if rule.allows(id, record) { places.append(StoredPlace(collection: run.collection, number: number)) }
        return true
      }
      found += DocumentRun.runs(of: places)
    }
    visits += count
    return found
  }
}
