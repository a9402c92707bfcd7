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

  /// Whether a text is visible as it is: it has no controls, line ends or invisible characters.
  ///
  /// Names of users and of keys have to be: with the others, two names that differ look the same, and a log
  /// or a page shows something else than what is stored. Refused are the general categories control,
  /// format, line separator and paragraph separator of Unicode, to which all changes of the writing
  /// direction belong.
  ///
  /// - Complexity: O(*n*).
  package static func isVisible(_ text: String) -> Bool {
    !text.unicodeScalars.contains { scalar in
      isHidden(scalar) || scalar.properties.generalCategory == .format
    }
  }

  private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    default: scalar.properties.isBidiControl
    }
  }
}
