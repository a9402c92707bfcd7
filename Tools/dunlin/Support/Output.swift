import CRDTCore
import Foundation

/// What commands print: immediately, so that a reader of a pipe can follow, and with an error when it fails.
enum Output {
  /// Prints a line on standard output.
  static func print(_ line: String) throws { try RawFile.output.write(Array((line + "\n").utf8)) }

  /// Prints an object as one line of JSON on standard output, for programs.
  static func print(json fields: [TextKey: Value]) throws { try print(JSON.text(of: .map(fields))) }

  /// Prints what went wrong as a line on standard error: in red on a terminal.
  static func fail(_ line: String) { note(Style.errors(.red, line)) }

  /// Prints a line on standard error, which nobody may read.
  static func note(_ line: String) {
    try? RawFile(STDERR_FILENO, name: "standard error").write(Array((line + "\n").utf8))
  }
}
