#if Server
  import Logging
  import Synchronization

  /// The lines of a log: level, message and values.
  final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    var logger: Logger { Logger(label: "test") { _ in Handler(lines: self) } }

    private struct Handler: LogHandler {
      let lines: LogLines
      var logLevel = Logger.Level.trace
      var metadata: Logger.Metadata = [:]

      subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
      }

      func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let values = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        lines.lines.withLock { $0.append("\(event.level) \(event.message)\(values)") }
      }
    }
  }
#endif
