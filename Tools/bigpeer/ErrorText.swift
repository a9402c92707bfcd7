#if Server
  import Foundation

  /// Errors on standard error; on a terminal their label is red.
  enum ErrorText {
    /// What stands before the message of an error.
    static let label = "Error:"

    /// Whether standard error is a terminal whose user wants colours.
    static let isColored: Bool = {
      let environment = ProcessInfo.processInfo.environment
      return isatty(STDERR_FILENO) == 1 && (environment["NO_COLOR"] ?? "").isEmpty
        && environment["TERM"] != "dumb"
    }()

    /// Writes a text that begins with the label.
    static func write(_ text: String) {
      let isLabelled = isColored && text.hasPrefix(label)
      let shown = isLabelled ? "\u{1B}[31m\(label)\u{1B}[0m\(text.dropFirst(label.count))" : text
      try? FileHandle.standardError.write(contentsOf: Data("\(shown)\n".utf8))
    }
  }
#endif
