import DocStore
import Logging
import Transports

/// Where log lines and the failures of calls that do not throw go.
struct Reporter: Sendable {
  /// Where each line has the database's directory as metadata.
  let logger: Logger
  private let failureHandler: (@Sendable (DunlinError) -> Void)?

  /// The key of the metadata that names the database.
  private static let database = "database"

  init(_ configuration: DunlinConfiguration, path: String) {
    // Without a handler of the application's the logging package writes to standard error.
    var logger = (configuration.logger ?? Logger(label: "dunlin")).plain
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

  /// Takes a line of the store's.
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
