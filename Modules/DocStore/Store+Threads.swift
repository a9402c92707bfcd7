extension Store {
  /// Runs `body` on a thread of its own: for reads that wait for whoever takes what they find.
  ///
  /// - Throws: `noMemory` when the system gives no thread; `body` does not run then.
  package func runOnThread(_ body: @escaping @Sendable () -> Void) throws(StoreError) {
    // A fork has none of the threads.
    if process.isHere { try threads.run(body) } else { try StoreThread(body).detach() }
  }
}
