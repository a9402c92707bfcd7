extension Store {
  /// Runs `body` on a thread of its own: for reads that wait for whoever takes what they find.
  ///
  /// - Throws: `noMemory` when the system gives no thread; `body` does not run then.
  package func runOnThread(_ body: @escaping @Sendable () -> Void) throws(StoreError) {
    try StoreThread(body).detach()
  }
}
