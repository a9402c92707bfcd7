import Dispatch
import Synchronization
import Testing

@testable import DocStore

@Suite(.timeLimit(.minutes(15))) struct ReusedThreadsTests {
  /// Runs `body` on one of the threads, and waits for what it returns.
  private func value<Result: Sendable>(
    on threads: ReusedThreads, _ body: @escaping @Sendable () -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { waiter in
      do {
        try threads.run { waiter.resume(returning: body()) }
      } catch {
        waiter.resume(throwing: error)
      }
    }
  }

  /// Threads that stay idle however long this process has to wait for a processor.
  private func patientThreads() -> ReusedThreads { ReusedThreads(idleTime: .seconds(3600)) }

  private func waitForIdle(_ count: Int, _ threads: ReusedThreads) async throws {
    while threads.idleCount != count { try await Task.sleep(for: .milliseconds(1)) }
  }

  @Test func `work that follows on other work has its thread`() async throws {
    let threads = patientThreads()
    var used: Set<UInt> = []
    for _ in 0..<20 {
      used.insert(try await value(on: threads) { StoreThread.current })
      try await waitForIdle(1, threads)
    }
    #expect(used.count == 1)
    threads.close()
    #expect(threads.idleCount == 0)
  }

  @Test func `each work has a thread while it waits, and few threads stay`() async throws {
    let threads = patientThreads()
    let gate = DispatchSemaphore(value: 0)
    let begun = Mutex<Set<UInt>>([])
    for _ in 0..<30 {
      try threads.run {
        _ = begun.withLock { $0.insert(StoreThread.current) }
        gate.wait()
      }
    }
    while begun.withLock({ $0.count }) < 30 { try await Task.sleep(for: .milliseconds(1)) }
    for _ in 0..<30 { gate.signal() }
    try await waitForIdle(8, threads)
    threads.close()
  }

  @Test func `an idle thread keeps nothing of its work`() async throws {
    final class Held: Sendable {}
    let threads = patientThreads()
    weak var held: Held?
    do {
      let object = Held()
      held = object
      try threads.run { withExtendedLifetime(object) {} }
    }
    try await waitForIdle(1, threads)
    #expect(held == nil)
    threads.close()
  }

  @Test func `a thread that was idle for long ends, and work goes on`() async throws {
    let threads = ReusedThreads(idleTime: .milliseconds(200))
    _ = try await value(on: threads) { 0 }
    try await Task.sleep(for: .milliseconds(400))
    try await waitForIdle(0, threads)
    #expect(try await value(on: threads) { 7 } == 7)
    threads.close()
  }

  @Test func `what is run after the end has a thread of its own`() async throws {
    let threads = ReusedThreads()
    threads.close()
    #expect(try await value(on: threads) { 7 } == 7)
    #expect(threads.idleCount == 0)
  }
}
