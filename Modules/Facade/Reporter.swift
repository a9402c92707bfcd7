import DocStore
import Logging
import Transports

/// Writes log lines, and reports the failures of calls that do not throw.
struct Reporter: Sendable {
  /// The logger; each line has the database's directory as metadata.
  let logger: Logger
  /// Whether the application has set up no logging, so that lines go to the console by default.
  let isConsole: Bool
  private let failureHandler: (@Sendable (DunlinError) -> Void)?

  /// The key of the metadata that names the database.
  private static let database = "database"

  init(_ configuration: DunlinConfiguration, path: String) {
    // If the application has set no log handler, the logging package writes to standard error.
    let chosen = configuration.logger ?? Logger(label: "dunlin")
    isConsole = configuration.logger == nil && chosen.handler is StreamLogHandler
    var logger = chosen.plain
    logger[metadataKey: Self.database] = "\(PlainText.of(path))"
    self.logger = logger
    failureHandler = configuration.failureHandler
  }

  /// Reports a failure of a call that does not throw.
  func fail(_ operation: String, _ error: any Error) {
    let error = DunlinError(any: error)
    logger.error("\(operation) failed: \(error)")
    failureHandler?(error)
  }

  /// Logs a line of the store.
  func log(_ level: StoreLogLevel, _ line: String) { logger.log(level: Logger.Level(level), "\(line)") }
}

extension Logger.Level {
  fileprivate init(_ level: StoreLogLevel) {
    switch level {
    case .debug: self = .debug
    case .info: self = .info
    case .warning: self = .warning
    case .error: self = .error
    }
  }
}
