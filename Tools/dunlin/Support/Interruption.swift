import Dispatch
import Foundation

/// Runs a clean-up when the user interrupts the program, then ends it with the shell's usual status.
struct Interruption {
  private let sources: [any DispatchSourceSignal]

  init(_ cleanUp: @escaping @Sendable () -> Void) {
    sources = [SIGINT, SIGTERM, SIGHUP].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        cleanUp()
        exit(128 + number)
      }
      source.resume()
      return source
    }
  }

  func cancel() { for source in sources { source.cancel() } }
}
