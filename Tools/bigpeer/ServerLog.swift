#if Server
  import Foundation
  import Logging

  /// Log lines on standard error: time, level, message, and the metadata by name.
  struct ServerLog: LogHandler {
    let label: String
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]

    init(label: String) { self.label = label }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let all = metadata.merging(event.metadata ?? [:]) { $1 }
      let values = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
      let time = Date().formatted(.iso8601)
      FileHandle.standardError.write(Data("\(time) \(event.level): \(event.message)\(values)\n".utf8))
    }
  }
#endif
