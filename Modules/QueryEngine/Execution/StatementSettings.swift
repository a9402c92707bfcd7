import CRDTCore
import Synchronization

/// The system parameters that concern every statement, stored so that statements read them without a lock.
final class StatementSettings: Sendable {
  private let seconds = Atomic<Int64>(0)
  private let isStrict = Atomic(false)
  private let areHintsEmpty = Atomic(true)
  private let defaultHints = Mutex(Hints())

  init(_ parameters: SystemParameters) {
    parameters.follow(.requestTimeoutSeconds) { [weak self] in
      if case .int(let seconds) = $0 { self?.seconds.store(seconds, ordering: .relaxed) }
    }
    parameters.follow(.strictTypes) { [weak self] in
      self?.isStrict.store($0 == .bool(true), ordering: .relaxed)
    }
    parameters.follow(.defaultDirectives) { [weak self] in
      guard let self, case .map(let directives) = $0, let hints = try? Hints(directives: directives) else {
        return
      }
      defaultHints.withLock { $0 = hints }
      areHintsEmpty.store(hints.isEmpty, ordering: .releasing)
    }
  }

  /// The hints for a statement that gives none itself.
  var hints: Hints {
    areHintsEmpty.load(ordering: .acquiring) ? Hints() : defaultHints.withLock { $0 }
  }

  /// The timeout of statements; `nil` for no bound.
  var timeout: Duration? {
    let seconds = seconds.load(ordering: .relaxed)
    return seconds == 0 ? nil : .seconds(seconds)
  }

  /// Whether an operand of a wrong type is an error.
  var strictTypes: Bool { isStrict.load(ordering: .relaxed) }
}
