/// What a store does of its own accord, on a thread that mostly sleeps.
///
/// It goes on with indexes that were left half made or half removed. It writes in slices through the
/// writer's queue, as everybody does.
final class Housekeeping: Sendable {
  private struct State {
    var isStopping = false
    var hasEnded = true
    var thread: StoreThread?
  }

  private let writer: Writer
  private let slice: WriterSlice
  private let options: StoreOptions
  private let state = Monitor(State())

  init(_ writer: Writer, _ options: StoreOptions) {
    self.writer = writer
    self.options = options
    slice = WriterSlice(options.writerSlice)
  }

  /// Begins with what the store as it was opened has unfinished; without any there is no thread.
  func start(unfinished state: StoreState) throws(StoreError) {
    let indexes = state.collections.flatMap(\.indexes).filter { $0.phase != .ready }
    guard !indexes.isEmpty else { return }
    self.state.withLock { $0.hasEnded = false }
    do throws(StoreError) {
      let thread = try StoreThread {
        self.run(indexes)
        self.state.withLock(wake: true) { $0.hasEnded = true }
      }
      thread.detach()
      self.state.withLock { $0.thread = thread }
    } catch {
      self.state.withLock(wake: true) { $0.hasEnded = true }
      throw error
    }
  }

  /// Lets the slice under way be the last one.
  func stop() { state.withLock(wake: true) { $0.isStopping = true } }

  /// Waits until the thread has ended, unless what is called from here depends on that very wait.
  func join() {
    if writer.isCurrentThread || state.withLock({ $0.thread })?.isCurrent == true { return }
    _ = state.wait { $0.hasEnded ? true : nil }
  }

  private func run(_ indexes: [IndexState]) {
    for index in indexes {
      do {
        try finish(index)
      } catch let error as StoreError where error.code == .closed || error.code == .indexNotFound {
        continue
      } catch {
        options.write(.error, "The index \(index.definition.name) could not be finished: \(error)")
      }
    }
  }

  private func finish(_ index: IndexState) throws {
    if index.phase != .dropping {
      do {
        while try write({ [slice] in try $0.extendIndex(index.number, until: slice.end()) }) != nil {}
        return
      } catch let error as StoreError where error.code == .corrupt {
        options.write(.error, "The index \(index.definition.name) is dropped: \(error)")
        let collection = index.definition.collection
        _ = try write { try $0.dropIndex({ $0.number == index.number }, in: collection) }
      }
    }
    while try !write({ [slice] in try $0.removeRows(ofIndex: index.number, until: slice.end()) }) {}
  }

  /// Runs `body` as the only writer and waits for its commit.
  private func write<R: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> R) throws -> R {
    let closed = StoreError(.closed, "The store is closing", operation: "write")
    if state.withLock({ $0.isStopping }) { throw closed }
    let result = Monitor<R?>(nil)
    let latch = Latch<Job.Outcome>()
    let job = Job(.user, firstWarning: options.waitWarning) { transaction in
      let value = try body(transaction)
      result.withLock { $0 = value }
    } completion: {
      latch.set($0)
    }
    writer.enqueue(job)
    _ = try latch.wait().get()
    guard let value = result.withLock({ $0 }) else { throw closed }
    return value
  }
}
