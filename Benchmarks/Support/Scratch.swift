package import Foundation

/// Directories that a measurement fills and removes.
package enum Scratch {
  /// Leaves nothing behind when the user has had enough.
  private static func removeAndExit(_ scratch: [URL], on number: Int32) -> any DispatchSourceSignal {
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number)
    source.setEventHandler {
      for directory in scratch { try? FileManager.default.removeItem(at: directory) }
      _exit(128 + number)
    }
    source.resume()
    return source
  }

  /// Runs `body` in a new directory below `parent`, which is removed again.
  package static func with<R>(in parent: String, _ body: (URL) throws -> R) throws -> R {
    try with(in: [parent]) { try body($0[0]) }
  }

  /// The same with a directory below each of several parents.
  package static func with<R>(in parents: [String], _ body: ([URL]) throws -> R) throws -> R {
    let scratch = parents.map {
      URL(filePath: $0).appendingPathComponent(
        "dunlin-benchmark-\(ProcessInfo.processInfo.processIdentifier)")
    }
    defer { for directory in scratch { try? FileManager.default.removeItem(at: directory) } }
    for directory in scratch {
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }
    let watches = [SIGINT, SIGTERM].map { removeAndExit(scratch, on: $0) }
    defer { for watch in watches { watch.cancel() } }
    return try body(scratch)
  }
}
