extension DocumentState {
  /// Drops removals older than `horizon`; the version vector still covers them.
  ///
  /// A removal stays if it hides default data, which no vector covers, or if something is below it. With a
  /// removal, its implied floor is dropped. A floor of that age with nothing above or below it is dropped,
  /// too. What readers see, the summary and the vector stay the same. After a late write, replicas that have
  /// collected and replicas that have not may differ; the digest shows it and ``repair(with:)`` resolves it.
  ///
  /// - Returns: Whether anything was dropped.
  /// - Complexity: O(*n*) in the entries.
  mutating func collect(before horizon: ClockReading) -> Bool { root.collectBelow(before: horizon) }

  /// Returns the stamp of the life, which a compacted tombstone keeps together with the floor.
  ///
  /// The document must be deleted, and everything in it must be older than `horizon`, including writes by
  /// sites that did not know of the deletion.
  func certificate(before horizon: ClockReading) -> Stamp? {
    !isAlive && max(life.reading, vector.latest) < horizon ? life : nil
  }
}

extension Node {
  fileprivate mutating func collectBelow(before horizon: ClockReading) -> Bool {
    var hasCollected = false
    for index in children.indices where children[index].node.collect(before: horizon) { hasCollected = true }
    if hasCollected { children.removeAll { $0.node.isEmpty } }
    return hasCollected
  }

  private mutating func collect(before horizon: ClockReading) -> Bool {
    let hasCollected = collectBelow(before: horizon)
    guard children.isEmpty, effectiveFloor.reading < horizon else { return hasCollected }
    switch register?.content {
    case .removed(overDefault: false)?:
      register = nil
      floor = nil
      return true
    case nil where floor != nil && !hasMetDefault:
      floor = nil
      return true
    case .removed?, .map?, .value?, .counter?, nil: return hasCollected
    }
  }
}
