import CRDTCore
import Synchronization

/// The time that statements have by their system parameter, kept where each can read it without a lock.
final class RequestTimeout: Sendable {
  private let seconds = Atomic<Int64>(0)

  init(_ parameters: SystemParameters) {
    parameters.follow(.requestTimeoutSeconds) { [weak self] in
      if case .int(let seconds) = $0 { self?.seconds.store(seconds, ordering: .relaxed) }
    }
  }

  /// `nil`: as long as they take.
  var current: Duration? {
    let seconds = seconds.load(ordering: .relaxed)
    return seconds == 0 ? nil : .seconds(seconds)
  }
}
