extension DocumentState {
  /// Refuses a state that no peer would accept.
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

  /// Returns the record of a merged state.
  ///
  /// - Returns: `refused` for a state that no peer would accept; the tables then do not change.
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
  /// The number of keys in the largest map here or below.
  fileprivate var mostChildren: Int { children.reduce(children.count) { max($0, $1.node.mostChildren) } }
}
