import CRDTCore

/// What is compared while the sender's answer to an earlier interest may be on its way.
///
/// What the sender sent before may be here only after the comparison, and of what has become of it since it may say nothing
/// more: not of what was not asked for in between, and not of what waited when it was to begin anew. So that is compared
/// once more.
struct EarlyComparison {
  private var narrowed: Set<TextKey> = []
  private var due = Puller.Due.nothing

  /// Takes note of an interest that the sender goes on with from another one.
  mutating func change(from former: Interest, to interest: Interest) {
    for name in narrowed { due.add(name.text) }
    narrowed.formUnion(interest.names(narrowedFrom: former))
  }

  /// Takes note that the sender drops what waits, and all is compared.
  mutating func startAnew() { due = .everything }

  /// Takes note that all is here which was sent before the present interest was known to the sender.
  ///
  /// - Returns: What of that interest is to be compared once more.
  mutating func settle(_ interest: Interest) -> Puller.Due {
    defer { self = EarlyComparison() }
    guard case .collections(let names) = due else { return due }
    let covered = names.filter { interest.covers($0.text) }
    return covered.isEmpty ? .nothing : .collections(covered)
  }
}
