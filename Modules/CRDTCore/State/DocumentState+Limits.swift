extension DocumentState {
  /// Refuses what no peer would take.
  ///
  /// - Throws: `tooManySites`, `tooManyKeys`.
  /// - Complexity: O(*n*) in the entries.
  func checked() throws(DocumentError) {
    guard vector.elements.count <= Limits.sitesPerDocument else {
      throw DocumentError(
        .tooManySites, "a document would have been written by more than \(Limits.sitesPerDocument) sites")
    }
    guard root.mostChildren <= Limits.keysPerMap else { throw .tooManyKeys }
  }

  /// The record of the state that merging came to.
  ///
  /// - Returns: `refused` for what no peer would take; the tables are then as they were.
  func merged(own site: SiteID, _ tables: inout RecordTables) -> MergeOutcome {
    var state = self
    state.dropSuperseded()
    do throws(DocumentError) {
      try state.checked()
    } catch {
      return .refused(error)
    }
    return .changed(StateEncoder.encode(state, own: site, tables: &tables))
  }
}

extension Node {
  /// The number of keys of the map here or below that has most.
  fileprivate var mostChildren: Int { children.reduce(children.count) { max($0, $1.node.mostChildren) } }
}
