extension DocumentState {
  /// Forgets removals older than `horizon`, which the version vector remembers.
  ///
  /// A removal stays where it hides default data, which no vector covers, and where something lies below
  /// it. The floor that it implied goes with it, and so does a floor of its age with nothing above or
  /// below. What readers see, the summary and the vector stay as they are. Replicas that have collected
  /// and replicas that have not may then differ after a late write; the digest shows it and
  /// ``repair(with:)`` settles it.
  ///
  /// - Returns: Whether anything was forgotten.
  /// - Complexity: O(*n*) in the entries.
  mutating func collect(before horizon: ClockReading) -> Bool { root.collectBelow(before: horizon) }

  /// The death certificate that may take this state's place: its life, when the document is deleted and
  /// nothing in it, not even what was written unaware of the deletion, is as young as `horizon`.
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
