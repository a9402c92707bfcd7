package import Logging

/// Passes lines on with all that ends lines, or commands a terminal, written as `\u{1B}`: names and ids in them are
/// somebody else's.
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

/// Text for a person's eyes.
package enum PlainText {
  /// Escapes what is no character to be seen: controls, line ends, and what turns the direction of writing.
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
  /// The same logger, whose lines no peer can break or colour.
  package var plain: Logger {
    var logger = self
    if !(handler is PlainLog) { logger.handler = PlainLog(handler) }
    return logger
  }
}
