/// When writers that a newer one of their site has superseded leave the version vector.
///
/// A site draws a birth with its first write in each opening of its store, and after an eviction, so that its former writers
/// would pile up. A superseded writer that nothing in the document bears says one thing only: that what it once wrote here was
/// seen. A peer that still holds some of that meets a later write or a removal at the same path, and loses to it by the stamp.
/// Only where the removal has been collected can it come back. To claim less never loses a write. Summaries do not count
/// superseded writers, so that it makes no difference who still lists them.
enum SupersededWriters {
  /// A vector of up to so many elements keeps all of them; such a record is edited in place.
  static let limit = 16
  /// Beyond so many elements a contribution to a counter does not keep its writer in the vector.
  static let contributorLimit = 1_024
}

extension DocumentState {
  /// Takes superseded writers out of a long version vector: those that nothing in the document bears, and of a very long one
  /// those that have but contributed to counters.
  ///
  /// - Complexity: O(*n*) in the entries, where the vector is long.
  mutating func dropSuperseded() {
    guard vector.elements.count > SupersededWriters.limit, vector.hasSuperseded else { return }
    var kept: Set<Writer> = [Writer(site: life.site, birth: lifeBirth)]
    root.gatherWriters(into: &kept)
    var contributors = kept
    root.gatherContributors(into: &contributors)
    vector.dropSuperseded(unless: contributors)
    if vector.elements.count > SupersededWriters.contributorLimit { vector.dropSuperseded(unless: kept) }
  }

  /// Whether anything is different but superseded writers that need not be listed.
  func differs(from other: DocumentState) -> Bool {
    guard self != other else { return false }
    guard max(vector.elements.count, other.vector.elements.count) > SupersededWriters.limit else {
      return true
    }
    var (mine, theirs) = (self, other)
    mine.dropSuperseded()
    theirs.dropSuperseded()
    return mine != theirs
  }
}

extension Node {
  fileprivate func gatherWriters(into writers: inout Set<Writer>) {
    if let register { writers.insert(register.writer) }
    if let floor { writers.insert(Writer(site: floor.stamp.site, birth: floor.birth)) }
    for child in children { child.node.gatherWriters(into: &writers) }
  }

  fileprivate func gatherContributors(into writers: inout Set<Writer>) {
    if case .counter(let state)? = register?.content {
      for contribution in state.contributions { writers.insert(contribution.writer) }
    }
    for child in children { child.node.gatherContributors(into: &writers) }
  }
}
