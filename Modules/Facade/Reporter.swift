import DocStore
import Logging
import Transports

/// Where log lines and the failures of calls that do not throw go.
struct Reporter: Sendable {
  let logger: Logger
  private let failureHandler: (@Sendable (DunlinError) -> Void)?
  /// Whether the application has set up logging, or given a logger of its own.
  private let isLoggingSetUp: Bool

  init(_ configuration: DunlinConfiguration) {
    let logger = configuration.logger ?? Logger(label: "dunlin")
    self.logger = logger.plain
    failureHandler = configuration.failureHandler
    // The logging package offers no other way to ask: this is its handler until an application names one.
    isLoggingSetUp = configuration.logger != nil || !(logger.handler is StreamLogHandler)
  }

  /// Reports a failure of a call that does not throw.
  func fail(_ operation: String, _ error: any Error) {
    let error = DunlinError(any: error)
    logger.error("\(operation) failed: \(error)")
    failureHandler?(error)
  }

  /// Takes a line of the store's; warnings are printed where nobody has set up logging.
  func log(_ level: StoreLogLevel, _ line: String) {
    guard isLoggingSetUp || level < .warning else {
      print(PlainText.of(line))
      return
    }
    logger.log(level: Logger.Level(level), "\(line)")
  }
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
