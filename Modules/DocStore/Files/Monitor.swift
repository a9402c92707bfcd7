import Platform

/// A value under a lock, with a way to wait until it has changed.
///
/// It is the layer's only lock. The standard library's mutex knows a thread by a number that it asks the
/// system for once. After a fork, the child's thread still has the number of its parent, and the process
/// ends as soon as another thread waits for the lock. A child may open a store, so that mutex cannot serve.
// SAFETY: `state` is only touched while the mutex is held; mutex and condition live as long as the object.
@safe final class Monitor<State>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  // SAFETY: the mutex excludes other threads, so the exclusivity check is not needed.
  @exclusivity(unchecked) private var state: State

  init(_ state: State) {
    unsafe self.state = state
    unsafe mutex = .allocate(capacity: 1)
    unsafe condition = .allocate(capacity: 1)
    unsafe pthread_mutex_init(mutex, nil)
    #if canImport(Darwin)
      unsafe pthread_cond_init(condition, nil)
    #else
      var attributes = pthread_condattr_t()
      unsafe pthread_condattr_init(&attributes)
      // Time-outs must not move with the wall clock.
      unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      unsafe pthread_cond_init(condition, &attributes)
      unsafe pthread_condattr_destroy(&attributes)
    #endif
  }

  deinit {
    unsafe pthread_cond_destroy(condition)
    unsafe pthread_mutex_destroy(mutex)
    unsafe condition.deallocate()
    unsafe mutex.deallocate()
  }

  /// Runs `body` with the lock held, then wakes the waiting threads if `wake` is set.
  func withLock<R>(wake: Bool = false, _ body: (inout State) throws -> R) rethrows -> R {
    // Runs after the lock is released: a thread woken under the lock would have to wait once more.
    defer { if wake { unsafe pthread_cond_broadcast(condition) } }
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return try unsafe body(&state)
  }

  /// Waits until `body` returns a result; calls it with the lock held, at once and after each wake-up.
  ///
  /// - Returns: `nil` if `timeout` passed first.
  func wait<R>(for timeout: Duration? = nil, until body: (inout State) -> R?) -> R? {
    let end = timeout.map { StoreOptions.systemMonotonic() + $0 }
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    while true {
      if let result = unsafe body(&state) { return result }
      guard let end else {
        unsafe pthread_cond_wait(condition, mutex)
        continue
      }
      let left = end - StoreOptions.systemMonotonic()
      guard left > .zero else { return nil }
      sleep(left)
    }
  }

  private func sleep(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    #if canImport(Darwin)
      var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
      unsafe pthread_cond_timedwait_relative_np(condition, mutex, &time)
    #else
      var time = timespec()
      unsafe clock_gettime(CLOCK_MONOTONIC, &time)
      let nanoseconds = time.tv_nsec + Int(attoseconds / 1_000_000_000)
      time.tv_sec += Int(seconds) + nanoseconds / 1_000_000_000
      time.tv_nsec = nanoseconds % 1_000_000_000
      unsafe pthread_cond_timedwait(condition, mutex, &time)
    #endif
  }
}
