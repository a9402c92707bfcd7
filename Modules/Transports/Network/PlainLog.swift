import Links
package import Logging

/// Escapes control characters and line ends in log lines as `\u{1B}`.
///
/// Names and ids in them come from others, and could break lines or send commands to a terminal.
struct PlainLog: LogHandler {
  private var handler: any LogHandler

  init(_ handler: any LogHandler) { self.handler = handler }

  func log(event: LogEvent) {
    var event = event
    event.message = "\(PlainText.of("\(event.message)"))"
    handler.log(event: event)
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { handler[metadataKey: key] }
    set { handler[metadataKey: key] = newValue }
  }

  var metadata: Logger.Metadata {
    get { handler.metadata }
    set { handler.metadata = newValue }
  }

  var metadataProvider: Logger.MetadataProvider? {
    get { handler.metadataProvider }
    set { handler.metadataProvider = newValue }
  }

  var logLevel: Logger.Level {
    get { handler.logLevel }
    set { handler.logLevel = newValue }
  }
}

extension Logger {
  /// The same logger, with lines that no peer can break or colour.
  package var plain: Logger {
    var logger = self
    if !(handler is PlainLog) { logger.handler = PlainLog(handler) }
    return logger
  }
}
