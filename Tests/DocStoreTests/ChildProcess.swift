import DocStore
import Foundation
import Testing

/// What a test's child process does to a store before it is killed.
struct Crash: Codable, Sendable {
  let path: String
  let step: StoreStep

  /// Options under which the process dies without a word when it reaches the step.
  func options() -> StoreOptions {
    var options = StoreOptions(log: { _, _ in })
    let step = step
    options.stepFault = { if $0 == step { kill(getpid(), SIGKILL) } }
    return options
  }
}
