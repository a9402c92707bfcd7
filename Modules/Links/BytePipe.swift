import NIOConcurrencyHelpers

/// One direction of a link: a bounded queue of bytes from one writer to one reader.
///
/// It can emulate a line. A write is accepted as a whole and then waits until the queue is within its bound
/// again. So the queue never holds more than the bound and one write.
final class BytePipe: Sendable {
  /// The result of a read.
  enum Taken {
    case pieces([[UInt8]])
    case nothingYet
    case ended(LinkError?)
  }

  private typealias Waiters = [UInt64: CheckedContinuation<Void, Never>]

  private struct State {
    var queue: [LinkSchedule.Delivery] = []
    var queuedBytes = 0
    /// Set once the writer has ended; without an error for an orderly end.
    var ending: (error: LinkError?, at: Duration)?
    var schedule: LinkSchedule?
    /// Whether the reader must call `onRoom`.
    var owesRoom = false
    var nextWaiter: UInt64 = 0
    var readers: Waiters = [:]
    var writers: Waiters = [:]
    var alarm: Task<Void, Never>?
  }

  /// The maximum size of a piece, in bytes; larger ones are split.
  private static let wholeBytes = 256 << 10

  private let bound: Int
  private let clock: TransportClock
  private let onRoom: @Sendable () -> Void
  private let state: NIOLockedValueBox<State>

  /// Makes an empty pipe.
  ///
  /// - Parameters:
  ///   - bound: Queued bytes above which a writer waits.
  ///   - schedule: The emulated line; `nil` delivers at once.
  ///   - clock: The clock of the emulated line.
  ///   - onRoom: Called after a read that made room in a full pipe.
  init(
    bound: Int, schedule: LinkSchedule? = nil, clock: TransportClock = .continuous,
    onRoom: @escaping @Sendable () -> Void = {}
  ) {
    self.bound = max(1, bound)
    self.clock = clock
    self.onRoom = onRoom
    state = NIOLockedValueBox(State(schedule: schedule))
  }

  deinit { state.withLockedValue { $0.alarm?.cancel() } }

  // MARK: - Writing

  /// Queues `pieces` without waiting.
  ///
  /// - Returns: Whether there is room for more.
  /// - Throws: The reason why the pipe has ended.
  @discardableResult
  func append(_ pieces: [[UInt8]]) throws(LinkError) -> Bool {
    let (result, readers) = state.withLockedValue { state -> (Result<Bool, LinkError>, Waiters) in
      if let ending = state.ending {
        return (.failure(ending.error ?? LinkError(.closed, "The direction was ended before")), [:])
      }
      for piece in pieces where !piece.isEmpty { enqueue(piece, &state) }
      let full = state.queuedBytes >= bound
      if full { state.owesRoom = true }
      let failure = state.ending?.error
      return (failure.map { .failure($0) } ?? .success(!full), wakeAll(&state.readers))
    }
    resume(readers)
    return try result.get()
  }

  /// Queues `pieces` and waits until the pipe is within its bound.
  func write(_ pieces: [[UInt8]]) async throws(LinkError) {
    if try append(pieces) { return }
    try await waitWhile { [bound] in $0.queuedBytes >= bound }
  }

  /// Ends the pipe after what is queued, with an error if the bytes do not end in order.
  ///
  /// The first end counts, unless the writer leaves (`leaving`) before everything was taken.
  func finish(_ error: LinkError? = nil, leaving: Bool = false) {
    resume(
      state.withLockedValue { state in
        let isCutShort = leaving && state.ending?.error == nil && !state.queue.isEmpty
        guard state.ending == nil || isCutShort else { return [:] }
        state.ending = (error, .zero)
        return error == nil
          ? wakeAll(&state.readers)
          : wakeAll(&state.readers).merging(wakeAll(&state.writers)) { first, _ in first }
      })
  }

  /// Waits until the reader has taken everything.
  func waitUntilDrained() async throws(LinkError) {
    try await waitWhile { $0.queuedBytes > 0 }
  }

  /// Ends the pipe at once and drops what is queued.
  func fail(_ error: LinkError) {
    let (waiters, alarm) = state.withLockedValue { state in
      // A pipe that was emptied and had ended keeps its own reason.
      if state.ending?.error == nil { state.ending = (error, .zero) }
      state.queue = []
      state.queuedBytes = 0
      let alarm = state.alarm
      state.alarm = nil
      return (wakeAll(&state.readers).merging(wakeAll(&state.writers)) { first, _ in first }, alarm)
    }
    alarm?.cancel()
    resume(waiters)
  }

  // MARK: - Reading

  /// Waits for bytes and returns about `limit` at most; `nil` at the orderly end.
  func read(atMost limit: Int = 256 << 10) async throws(LinkError) -> [UInt8]? {
    while true {
      switch take(atMost: limit) {
      case .pieces(let pieces):
        if pieces.count == 1 { return pieces[0] }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(pieces.reduce(0) { $0 + $1.count })
        for piece in pieces { bytes += piece }
        return bytes
      case .ended(let error?): throw error
      case .ended(nil): return nil
      case .nothingYet:
        await waitForBytes()
        if Task.isCancelled { throw .cancelled }
      }
    }
  }

  /// Takes the bytes that have arrived, up to `limit`, but at least one piece.
  func take(atMost limit: Int) -> Taken {
    let (taken, room, writers) = state.withLockedValue { state -> (Taken, Bool, Waiters) in
      let now = state.schedule == nil ? .zero : clock.now
      var count = 0
      var bytes = 0
      for delivery in state.queue {
        guard delivery.arrival <= now, count == 0 || bytes + delivery.bytes.count <= limit else { break }
        count += 1
        bytes += delivery.bytes.count
      }
      guard count > 0 else {
        guard state.queue.isEmpty, let ending = state.ending, ending.at <= now else {
          return (.nothingYet, false, [:])
        }
        return (.ended(ending.error), false, [:])
      }
      let pieces = state.queue[..<count].map(\.bytes)
      state.queue.removeFirst(count)
      state.queuedBytes -= bytes
      guard state.queuedBytes < bound else { return (.pieces(pieces), false, [:]) }
      let room = state.owesRoom
      state.owesRoom = false
      return (.pieces(pieces), room, wakeAll(&state.writers))
    }
    resume(writers)
    if room { onRoom() }
    return taken
  }

  /// Whether nothing is queued.
  var isEmpty: Bool { state.withLockedValue { $0.queue.isEmpty } }

  /// Bytes that were written and not yet taken.
  var queuedBytes: Int { state.withLockedValue { $0.queuedBytes } }

  /// Whether a writer would have to wait.
  var isFull: Bool { state.withLockedValue { $0.queuedBytes >= bound } }

  // MARK: - Waiting

  private func waitForBytes() async {
    await suspend(\.readers) { [clock] state in
      guard state.schedule != nil else { return state.queue.isEmpty && state.ending == nil }
      guard let due = state.queue.first?.arrival ?? state.ending?.at else { return true }
      guard due > clock.now else { return false }
      self.setAlarm(due, &state)
      return true
    }
  }

  private func waitWhile(_ condition: @escaping (borrowing State) -> Bool) async throws(LinkError) {
    while true {
      let ending = state.withLockedValue { state -> (waits: Bool, error: LinkError?) in
        (condition(state), state.ending?.error)
      }
      if let error = ending.error { throw error }
      guard ending.waits else { return }
      if Task.isCancelled { throw .cancelled }
      await suspend(\.writers) { state in condition(state) && state.ending?.error == nil }
    }
  }

  /// Suspends until woken, unless `condition` no longer holds or the task is cancelled.
  private func suspend(
    _ waiters: any WritableKeyPath<State, Waiters> & Sendable, while condition: (inout State) -> Bool
  ) async {
    let id = state.withLockedValue { state in
      state.nextWaiter += 1
      return state.nextWaiter
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let waits = state.withLockedValue { state in
          guard !Task.isCancelled, condition(&state) else { return false }
          state[keyPath: waiters][id] = continuation
          return true
        }
        if !waits { continuation.resume() }
      }
    } onCancel: {
      state.withLockedValue { $0[keyPath: waiters].removeValue(forKey: id) }?.resume()
    }
  }

  private func setAlarm(_ due: Duration, _ state: inout State) {
    state.alarm?.cancel()
    state.alarm = Task { [weak self, clock] in
      guard (try? await clock.sleep(until: due)) != nil, let self else { return }
      resume(self.state.withLockedValue { wakeAll(&$0.readers) })
    }
  }

  private func enqueue(_ piece: [UInt8], _ state: inout State) {
    guard state.schedule != nil else {
      state.queuedBytes += piece.count
      guard piece.count > Self.wholeBytes else {
        state.queue.append(LinkSchedule.Delivery(bytes: piece, arrival: .zero))
        return
      }
      // A piece is taken as a whole, so one that is too large would exceed every bound.
      for start in stride(from: 0, to: piece.count, by: Self.wholeBytes) {
        let part = piece[start..<min(start + Self.wholeBytes, piece.count)]
        state.queue.append(LinkSchedule.Delivery(bytes: Array(part), arrival: .zero))
      }
      return
    }
    for delivery in state.schedule?.submit(piece, at: clock.now) ?? [] {
      state.queue.append(delivery)
      state.queuedBytes += delivery.bytes.count
    }
    if let breaks = state.schedule?.breaks, state.ending == nil {
      state.ending = (LinkError(.disconnected, "The emulated link broke"), breaks)
    }
  }

  private func wakeAll(_ waiters: inout Waiters) -> Waiters {
    defer { waiters = [:] }
    return waiters
  }

  private func resume(_ waiters: Waiters) {
    for waiter in waiters.values { waiter.resume() }
  }
}
