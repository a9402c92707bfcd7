public import Foundation

extension Process {
  /// Ends a program for certain: threads of the runtime keep back signals, and what they start inherits that.
  public func end() {
    guard isRunning else { return }
    kill(processIdentifier, SIGKILL)
    waitUntilExit()
  }
}
