#if Server
  import Dispatch
  import Synchronization

  /// Bytes that requests hold for one purpose, bounded for each key and in all.
  ///
  /// Requests that wait for room get it in the order in which they asked. A request waits only for those of
  /// its own key, unless all keys together hold as much as they may.
  package final class ByteAccount: Sendable {
    /// A request that waits for room.
    private struct Waiter {
      let id: UInt64
      let key: String
      let bytes: Int
      /// Is called once, with whether the bytes are reserved.
      let resume: @Sendable (Bool) -> Void
    }

    private struct State {
      var limit: Int
      var limitByKey: Int
      var all = 0
      var byKey: [String: Int] = [:]
      var waiters: [Waiter] = []
      var lastID: UInt64 = 0
    }

    /// How often a thread that waits checks whether it still has to.
    static let checkInterval = DispatchTimeInterval.milliseconds(250)

    private let state: Mutex<State>

    /// Makes an account without reservations.
    ///
    /// - Parameters:
    ///   - limit: The most bytes of all keys.
    ///   - limitByKey: The most bytes of one key.
    package init(limit: Int, limitByKey: Int) {
      state = Mutex(State(limit: limit, limitByKey: min(limit, limitByKey)))
    }

    /// The most bytes of all keys.
    package var limit: Int { state.withLock { $0.limit } }

    /// The most bytes of one key.
    package var limitByKey: Int { state.withLock { $0.limitByKey } }

    /// Uses other limits from now on; what is reserved stays so.
    ///
    /// - Parameters:
    ///   - limit: The most bytes of all keys.
    ///   - limitByKey: The most bytes of one key.
    func update(limit: Int, limitByKey: Int) {
      let ready = state.withLock { state in
        state.limit = limit
        state.limitByKey = min(limit, limitByKey)
        return takeWaiters(&state)
      }
      for waiter in ready { waiter.resume(true) }
    }

    /// The bytes that are reserved now, of all keys.
    package var bytes: Int { state.withLock { $0.all } }

    /// The number of requests that wait for room.
    package var waiting: Int { state.withLock { $0.waiters.count } }

    /// Whether less than the half of the bytes is reserved, of the key and of all.
    func hasPlenty(for key: String) -> Bool {
      state.withLock { $0.byKey[key, default: 0] < $0.limitByKey / 2 && $0.all < $0.limit / 2 }
    }

    /// Reserves bytes if there is room now, and nobody of the key waits for it.
    ///
    /// - Parameters:
    ///   - bytes: The number of bytes.
    ///   - key: The key of the request.
    /// - Returns: Whether they are reserved.
    package func tryToReserve(_ bytes: Int, for key: String) -> Bool {
      state.withLock { state in
        let isFree = !state.waiters.contains { $0.key == key || !fits($0.bytes, in: state) }
        return isFree && take(bytes, for: key, &state)
      }
    }

    /// Reserves bytes, and waits for room if there is none.
    ///
    /// - Parameters:
    ///   - bytes: The number of bytes, at most ``limitByKey``.
    ///   - key: The key of the request.
    ///   - time: How long to wait at most.
    /// - Returns: Whether they are reserved; they are not after that time, or if the task is cancelled.
    package func reserve(_ bytes: Int, for key: String, within time: Duration) async -> Bool {
      if tryToReserve(bytes, for: key) { return true }
      return await withTaskGroup(of: Bool?.self) { group in
        group.addTask { await self.wait(for: bytes, of: key) }
        group.addTask {
          try? await Task.sleep(for: time)
          return nil
        }
        while let end = await group.next() {
          // A cancelled wait ends soon: by then the bytes may have been reserved.
          group.cancelAll()
          if let isReserved = end { return isReserved }
        }
        return false
      }
    }

    /// Reserves bytes, and blocks the caller's thread until there is room.
    ///
    /// - Parameters:
    ///   - bytes: The number of bytes, at most ``limitByKey``.
    ///   - key: The key of the request.
    ///   - poll: Is called now and then; it throws to end the wait.
    /// - Throws: What `poll` throws; then nothing is reserved.
    package func reserve<Failure: Error>(
      _ bytes: Int, for key: String, polling poll: () throws(Failure) -> Void
    ) throws(Failure) {
      if tryToReserve(bytes, for: key) { return }
      let semaphore = DispatchSemaphore(value: 0)
      let id = nextID()
      queue(Waiter(id: id, key: key, bytes: bytes) { _ in semaphore.signal() })
      while semaphore.wait(timeout: .now() + Self.checkInterval) == .timedOut {
        do {
          try poll()
        } catch {
          if !remove(id) { release(bytes, for: key) }
          throw error
        }
      }
    }

    /// Gives reserved bytes back, to those who wait for them.
    ///
    /// - Parameters:
    ///   - bytes: The number of bytes.
    ///   - key: The key for which they were reserved.
    package func release(_ bytes: Int, for key: String) {
      guard bytes > 0 else { return }
      let ready = state.withLock { state in
        state.all -= bytes
        let left = state.byKey[key, default: bytes] - bytes
        state.byKey[key] = left > 0 ? left : nil
        return takeWaiters(&state)
      }
      for waiter in ready { waiter.resume(true) }
    }

    // MARK: - Waiting

    private func wait(for bytes: Int, of key: String) async -> Bool {
      let id = nextID()
      return await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          queue(Waiter(id: id, key: key, bytes: bytes) { continuation.resume(returning: $0) })
          // The cancellation may have come before it was among the waiters.
          if Task.isCancelled { withdraw(id) }
        }
      } onCancel: {
        withdraw(id)
      }
    }

    private func withdraw(_ id: UInt64) {
      let (waiter, ready) = state.withLock { state -> (Waiter?, [Waiter]) in
        guard let index = state.waiters.firstIndex(where: { $0.id == id }) else { return (nil, []) }
        let waiter = state.waiters.remove(at: index)
        return (waiter, takeWaiters(&state))
      }
      waiter?.resume(false)
      for other in ready { other.resume(true) }
    }

    /// Removes a waiter that no longer waits.
    ///
    /// - Returns: Whether it was still waiting.
    private func remove(_ id: UInt64) -> Bool {
      let (isThere, ready) = state.withLock { state -> (Bool, [Waiter]) in
        guard let index = state.waiters.firstIndex(where: { $0.id == id }) else { return (false, []) }
        state.waiters.remove(at: index)
        return (true, takeWaiters(&state))
      }
      for other in ready { other.resume(true) }
      return isThere
    }

    private func nextID() -> UInt64 {
      state.withLock { state in
        state.lastID += 1
        return state.lastID
      }
    }

    /// Puts a waiter at the end; it goes on at once if there is room.
    private func queue(_ waiter: Waiter) {
      let ready = state.withLock { state in
        state.waiters.append(waiter)
        return takeWaiters(&state)
      }
      for waiter in ready { waiter.resume(true) }
    }

    /// Reserves for those waiters for whom there is room, and removes them.
    private func takeWaiters(_ state: inout State) -> [Waiter] {
      guard !state.waiters.isEmpty else { return [] }
      var ready: [Waiter] = []
      var left: [Waiter] = []
      var isFull = false
      for waiter in state.waiters {
        let isBehind = isFull || left.contains { $0.key == waiter.key }
        if !isBehind, take(waiter.bytes, for: waiter.key, &state) {
          ready.append(waiter)
        } else {
          if !isBehind, !fits(waiter.bytes, in: state) { isFull = true }
          left.append(waiter)
        }
      }
      state.waiters = left
      return ready
    }

    /// Whether all keys together leave room for so many bytes.
    private func fits(_ bytes: Int, in state: State) -> Bool { state.all + bytes <= state.limit }

    private func take(_ bytes: Int, for key: String, _ state: inout State) -> Bool {
      let own = state.byKey[key, default: 0] + bytes
      guard own <= state.limitByKey, fits(bytes, in: state) else { return false }
      state.all += bytes
      state.byKey[key] = own
      return true
    }
  }
#endif
