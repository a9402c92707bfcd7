import CRDTCore

/// Collections that are compared while the sender's answers to an earlier interest may still be in flight.
///
/// Those answers may arrive only after the comparison. The sender may not send later changes to them, because
/// this peer had stopped asking for them or the sender dropped its queue. So these collections are compared
/// once more.
struct EarlyReconciliation {
  private var narrowed: Set<TextKey> = []
  private var due = PullState.Due.nothing

  /// Records a change of the interest; the sender may still be answering the former one.
  mutating func change(from former: Interest, to interest: Interest) {
    for name in narrowed { due.add(name.text) }
    narrowed.formUnion(interest.names(narrowedFrom: former))
  }

  /// Records that the sender drops its queue and everything is compared.
  mutating func startAnew() { due = .everything }

  /// Returns what to compare again, once everything sent under an earlier interest has arrived.
  ///
  /// - Returns: The collections of `interest` to compare once more.
  mutating func settle(_ interest: Interest) -> PullState.Due {
    defer { self = EarlyReconciliation() }
    guard case .collections(let names) = due else { return due }
    let covered = names.filter { interest.covers($0.text) }
    return covered.isEmpty ? .nothing : .collections(covered)
  }
}
