import Foundation

/// Colours of texts on a terminal; elsewhere, and where `NO_COLOR` is set, a text is as it is.
struct Style: Sendable {
  /// The looks that commands use.
  enum Look: Int {
    case bold = 1
    case dim = 2
    case red = 31
    case green = 32
    case yellow = 33
    case cyan = 36
  }

  let isColored: Bool

  /// The style of what goes to a descriptor.
  init(of descriptor: Int32, environment: [String: String] = ProcessInfo.processInfo.environment) {
    let hasNone = !(environment["NO_COLOR"] ?? "").isEmpty
    isColored = isatty(descriptor) == 1 && !hasNone && environment["TERM"] != "dumb"
  }

  static let output = Style(of: STDOUT_FILENO)
  static let errors = Style(of: STDERR_FILENO)

  func callAsFunction(_ look: Look, _ text: String) -> String {
    isColored ? "\u{1B}[\(look.rawValue)m\(text)\u{1B}[0m" : text
  }
}
