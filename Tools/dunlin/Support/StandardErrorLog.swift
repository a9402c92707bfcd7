import Foundation
import Logging

/// Log lines on standard error, so that standard output stays with what a command prints.
struct StandardErrorLog: LogHandler {
  let label: String
  var logLevel = Logger.Level.warning
  var metadata: Logger.Metadata = [:]

  init(label: String) { self.label = label }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    FileHandle.standardError.write(Data("\(event.level): \(event.message)\n".utf8))
  }
}
