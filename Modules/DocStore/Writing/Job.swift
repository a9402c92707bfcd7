/// How to end a job that waits for the statements of a task.
struct Interaction: Sendable {
  /// Rolls the transaction back and refuses its further statements.
  let abort: @Sendable (StoreError) -> Void
}

/// One transaction on its way to the writer thread.
// SAFETY: `body` is taken once, by whoever holds the job after the queue gave it up, or was
// lent for it: the thread that writes, or the canceller; all else never changes, or is guarded by the queue's lock.
final class Job: @unchecked Sendable {
  typealias Outcome = Result<CommitReceipt, any Error>

  let origin: Origin
  /// What the caller calls it.
  let hint: String?
  /// Whether the job runs as long as a task's asynchronous body does, rather than by itself.
  let interaction: Interaction?
  /// By the options' monotonic clock.
  let queuedAt: Duration
  /// What the job does in place of a transaction, with the writer and its files to itself.
  let maintenance: ((Writer) throws -> CommitReceipt)?
  private var body: ((WriteTransaction) throws -> Void)?
  private let completion: (Outcome) -> Void
  /// When the job's wait is to be logged next, and how often it was; guarded by the queue's lock.
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

  /// A job that is no transaction.
  init(
    maintenance: @escaping (Writer) throws -> Void, _ options: StoreOptions,
    completion: @escaping (Outcome) -> Void
  ) {
    origin = .user
    hint = nil
    interaction = nil
    queuedAt = options.monotonic()
    self.maintenance = {
      try maintenance($0)
      return CommitReceipt()
    }
    self.completion = completion
    nextWarning = queuedAt + options.waitWarning
  }

  /// Who writes, and what that is called.
  var title: String { Self.title(origin, hint) }

  static func title(_ origin: Origin, _ hint: String?) -> String {
    hint.map { "\(origin) '\($0.prefix(hintLimit))'" } ?? origin.description
  }

  /// Characters of a hint that are shown.
  static let hintLimit = 64

  /// Runs the body, which is released afterwards: its captures are the caller's.
  func run(_ transaction: WriteTransaction) throws {
    defer { body = nil }
    try body?(transaction)
  }

  /// Tells the caller how it went; to be called once.
  func finish(_ outcome: Outcome) {
    body = nil
    completion(outcome)
  }
}
