/// The limits above which superseded writers are dropped from the version vector.
///
/// A site draws a new birth with its first write after each opening of its store, and after an eviction. So
/// its former writers would accumulate.
///
/// A superseded writer that no entry refers to has one meaning: its former writes here were seen. If a peer
/// still holds one of them, that write meets a later write or a removal at the same path, and loses by its
/// stamp. It can reappear only if the removal was collected. A smaller vector never loses a write.
///
/// Summaries do not count superseded writers, so replicas that list them and replicas that do not have equal
/// summaries.
enum SupersededWriters {
  /// A vector of up to this many elements keeps all of them; such a record is edited in place.
  static let limit = 16
  /// In a vector of more elements, a contribution to a counter does not keep its writer.
  static let contributorLimit = 1_024
}

extension DocumentState {
  /// Drops superseded writers from a long version vector.
  ///
  /// It drops those that no entry refers to. From a very long vector it also drops those that only
  /// contributed to counters.
  ///
  /// - Complexity: O(*n*) in the entries, if the vector is long.
  mutating func dropSuperseded() {
    guard vector.elements.count > SupersededWriters.limit, vector.hasSuperseded else { return }
    var kept: Set<Writer> = [Writer(site: life.site, birth: lifeBirth)]
    root.gatherWriters(into: &kept)
    var contributors = kept
    root.gatherContributors(into: &contributors)
    vector.dropSuperseded(unless: contributors)
    if vector.elements.count > SupersededWriters.contributorLimit { vector.dropSuperseded(unless: kept) }
  }

  /// Whether the states differ in more than superseded writers that need not be listed.
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
