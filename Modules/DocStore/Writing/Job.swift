/// Ends a job that waits for the statements of a task.
struct Interaction: Sendable {
  /// Rolls the transaction back and refuses its further statements.
  let abort: @Sendable (StoreError) -> Void
}

/// One transaction on its way to the writer thread.
// SAFETY: `body` is taken once, by the thread that has the job after the queue gave it up or was lent for it:
// the writing thread, or the canceller. Everything else never changes, or is guarded by the queue's lock.
final class Job: @unchecked Sendable {
  typealias Outcome = Result<CommitReceipt, any Error>

  let origin: Origin
  /// The caller's name for the transaction.
  let hint: String?
  /// For a job that runs as long as a task's asynchronous body does; `nil` for other jobs.
  let interaction: Interaction?
  /// By the options' monotonic clock.
  let queuedAt: Duration
  /// What the job does instead of a transaction, with exclusive use of the writer and its files.
  let maintenance: ((Writer) throws -> CommitReceipt)?
  private var body: ((WriteTransaction) throws -> Void)?
  private let completion: (Outcome) -> Void
  /// When to log the job's wait next, and how often it was logged; guarded by the queue's lock.
  var nextWarning: Duration
  var warnings = 0
  /// Whether the caller gave up before the job was queued; guarded by the queue's lock.
  var isCancelled = false

  init(
    _ origin: Origin, hint: String? = nil, _ options: StoreOptions, interaction: Interaction? = nil,
    body: @escaping (WriteTransaction) throws -> Void, completion: @escaping (Outcome) -> Void
  ) {
    self.origin = origin
    self.hint = hint
    self.interaction = interaction
    queuedAt = options.monotonic()
    self.body = body
    maintenance = nil
    self.completion = completion
    nextWarning = queuedAt + options.waitWarning
  }

  /// A job that is not a transaction.
  init(
    maintenance: @escaping (Writer) throws -> Void, _ options: StoreOptions,
    completion: @escaping (Outcome) -> Void
  ) {
    origin = .user
    hint = "maintenance"
    interaction = nil
    queuedAt = options.monotonic()
    self.maintenance = {
      try maintenance($0)
      return CommitReceipt()
    }
    self.completion = completion
    nextWarning = queuedAt + options.waitWarning
  }

  /// The writer and the hint, for log lines.
  var title: String { Self.title(origin, hint) }

  static func title(_ origin: Origin, _ hint: String?) -> String {
    hint.map { "\(origin) '\($0.prefix(hintLimit))'" } ?? origin.description
  }

  /// The maximum number of characters of a hint that are shown.
  static let hintLimit = 64

  /// Runs the body, which is released afterwards, because its captures belong to the caller.
  func run(_ transaction: WriteTransaction) throws {
    defer { body = nil }
    try body?(transaction)
  }

  /// Reports the outcome to the caller; call it once.
  func finish(_ outcome: Outcome) {
    body = nil
    completion(outcome)
  }
}
