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

/// Text that is safe to display.
package enum PlainText {
  /// Escapes all that is not a visible character: controls, line ends, and changes of the writing direction.
  ///
  /// - Complexity: O(*n*); a text without such characters is returned as it is.
  package static func of(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isHidden) else { return text }
    var plain = ""
    for scalar in text.unicodeScalars {
      if isHidden(scalar) {
        plain += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
      } else {
        plain.unicodeScalars.append(scalar)
      }
    }
    return plain
  }

  private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    default: scalar.properties.isBidiControl
    }
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
