package import Foundation

/// Directories that a measurement fills and removes.
package enum Scratch {
  /// Leaves nothing behind when the user has had enough.
  private static func removeAndExit(_ scratch: URL, on number: Int32) -> any DispatchSourceSignal {
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number)
    source.setEventHandler {
      try? FileManager.default.removeItem(at: scratch)
      _exit(128 + number)
    }
    source.resume()
    return source
  }

  /// Runs `body` in a new directory below `parent`, which is removed again.
  package static func with<R>(in parent: String, _ body: (URL) throws -> R) throws -> R {
    let scratch = URL(filePath: parent).appendingPathComponent(
      "dunlin-benchmark-\(ProcessInfo.processInfo.processIdentifier)")
    try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: scratch) }
    let watches = [SIGINT, SIGTERM].map { removeAndExit(scratch, on: $0) }
    defer { for watch in watches { watch.cancel() } }
    return try body(scratch)
  }
}
