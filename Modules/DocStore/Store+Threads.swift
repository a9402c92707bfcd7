extension Store {
  /// Runs `body` on a separate thread, for reads that wait for the consumer of their results.
  ///
  /// - Throws: `noMemory` when the system cannot create a thread; `body` does not run then.
  package func runOnThread(_ body: @escaping @Sendable () -> Void) throws(StoreError) {
    // A forked process has none of the threads.
    if process.isHere { try threads.run(body) } else { try StoreThread(body).detach() }
  }
}
