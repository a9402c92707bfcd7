import CRDTCore
import Synchronization

/// What the system parameters say of every statement, kept where each can read it without a lock.
final class StatementSettings: Sendable {
  private let seconds = Atomic<Int64>(0)
  private let isStrict = Atomic(false)

  init(_ parameters: SystemParameters) {
    parameters.follow(.requestTimeoutSeconds) { [weak self] in
      if case .int(let seconds) = $0 { self?.seconds.store(seconds, ordering: .relaxed) }
    }
    parameters.follow(.strictTypes) { [weak self] in
      self?.isStrict.store($0 == .bool(true), ordering: .relaxed)
    }
  }

  /// `nil`: as long as they take.
  var timeout: Duration? {
    let seconds = seconds.load(ordering: .relaxed)
    return seconds == 0 ? nil : .seconds(seconds)
  }

  /// Whether an operand of a wrong type is an error.
  var strictTypes: Bool { isStrict.load(ordering: .relaxed) }
}
