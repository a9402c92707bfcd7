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
