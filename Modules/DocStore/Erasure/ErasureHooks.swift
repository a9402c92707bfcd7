/// Functions that run before a transaction that erases documents commits, and may write to it.
typealias ErasureHooks = Registrations<@Sendable (WriteTransaction, Set<HashedDocument>) throws -> Void>

extension Store {
  /// Runs `body` in every transaction that erases documents, before it commits.
  ///
  /// It gets the documents that were erased here or for a peer. A document that a peer has erased and written
  /// again, if both arrive at once, is not among them. `body` runs on the writer's thread; an error that it
  /// throws undoes the transaction. The registration ends when the returned listener is released. It costs
  /// other transactions nothing.
  package func beforeErasure(
    _ body: @escaping @Sendable (WriteTransaction, Set<HashedDocument>) throws -> Void
  ) -> CommitListener {
    writer.erasureHooks.add(body)
  }
}

extension WriteTransaction {
  /// Removes what else the store holds of the documents that this transaction has erased.
  ///
  /// - Throws: What the hooks throw; what reading and writing throw.
  func finishErasing(_ hooks: ErasureHooks) throws {
    guard !erased.isEmpty else { return }
    try removeSideValues(contentOf: erased)
    for hook in hooks.all { try hook(self, erased) }
  }
}
