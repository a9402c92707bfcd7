import CRDTCore

/// The name of a column: the path of a field, with dots between its steps.
///
/// A dot, comma, colon or backslash of a step itself stands behind a backslash.
struct ColumnName: Hashable, Sendable, Comparable {
  let path: [TextKey]

  init(path: [TextKey]) { self.path = path }

  /// Reads a name; a backslash at its end stands for itself.
  init(_ text: String) {
    var steps = [String.UnicodeScalarView()]
    var isEscaped = false
    for scalar in text.unicodeScalars {
      if isEscaped {
        steps[steps.count - 1].append(scalar)
        isEscaped = false
      } else if scalar == "\\" {
        isEscaped = true
      } else if scalar == "." {
        steps.append(String.UnicodeScalarView())
      } else {
        steps[steps.count - 1].append(scalar)
      }
    }
    if isEscaped { steps[steps.count - 1].append("\\") }
    path = steps.map { TextKey(String($0)) }
  }

  /// The name as a header has it.
  var text: String { escaped(".\\") }

  /// The name as it stands in `--types`.
  var argument: String { escaped(".\\,:") }

  private func escaped(_ special: String) -> String {
    path.map { step in
      var text = String.UnicodeScalarView()
      for scalar in step.text.unicodeScalars {
        if special.unicodeScalars.contains(scalar) { text.append("\\") }
        text.append(scalar)
      }
      return String(text)
    }.joined(separator: ".")
  }

  static func < (a: ColumnName, b: ColumnName) -> Bool { a.path.lexicographicallyPrecedes(b.path) }
}
