import Foundation

/// Directories that a measurement fills and removes.
enum Scratch {
  /// Leaves nothing behind when the user has had enough.
  static func removeAndExit(_ scratch: URL, on number: Int32) -> any DispatchSourceSignal {
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number)
    source.setEventHandler {
      try? FileManager.default.removeItem(at: scratch)
      _exit(128 + number)
    }
    source.resume()
    return source
  }
}
