import Foundation
package import Logging

/// Log lines on standard error, so that standard output stays with what a command prints.
package struct StandardErrorLog: LogHandler {
  package var logLevel: Logger.Level
  package var metadata: Logger.Metadata = [:]

  /// A log from `level` on.
  package init(from level: Logger.Level = .warning) { logLevel = level }

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) {
    FileHandle.standardError.write(Data("\(event.level): \(event.message)\n".utf8))
  }
}
