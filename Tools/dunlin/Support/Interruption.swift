import Dispatch
import Foundation
import Synchronization

/// Runs a clean-up when the user interrupts the program, then ends it with the shell's usual status.
struct Interruption {
  private let sources: [any DispatchSourceSignal]
  private let state: Flag

  private final class Flag: Sendable { let isSet = Atomic(false) }

  init(_ cleanUp: @escaping @Sendable () -> Void) {
    let state = Flag()
    self.state = state
    sources = [SIGINT, SIGTERM, SIGHUP].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        state.isSet.store(true, ordering: .sequentiallyConsistent)
        cleanUp()
        exit(128 + number)
      }
      source.resume()
      return source
    }
  }

  /// Does not return when an interruption is under way: the clean-up goes on, then ends the program.
  func yieldToCleanUp() async {
    while state.isSet.load(ordering: .sequentiallyConsistent) { try? await Task.sleep(for: .seconds(1)) }
  }

  func cancel() { for source in sources { source.cancel() } }
}
