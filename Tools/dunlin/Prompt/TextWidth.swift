extension Character {
  /// The number of terminal columns: two for wide East Asian characters and pictures, one for the others.
  ///
  /// Source: the blocks of Unicode whose characters are wide or fullwidth (UAX #11), roughly.
  var columns: Int {
    guard let scalar = unicodeScalars.first else { return 0 }
    switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
      0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
      return 2
    default: return scalar.properties.generalCategory == .nonspacingMark ? 0 : 1
    }
  }
}

extension String {
  /// How many columns of a terminal it takes.
  var columns: Int { reduce(0) { $0 + $1.columns } }

  /// The text in at most so many columns; what is left out shows as `…`.
  func cut(toColumns most: Int) -> String {
    guard columns > most else { return self }
    var (cut, used) = ("", 0)
    for character in self {
      guard used + character.columns < most else { break }
      cut.append(character)
      used += character.columns
    }
    return most > 0 ? cut + "…" : ""
  }

  /// The text with spaces to so many columns.
  func padded(toColumns width: Int, onLeft: Bool = false) -> String {
    let pad = String(repeating: " ", count: max(0, width - columns))
    return onLeft ? pad + self : self + pad
  }

  /// The text with what would move a terminal's cursor, or change its state, made visible.
  var printable: String {
    guard unicodeScalars.contains(where: \.movesCursor) else { return self }
    return String(
      String.UnicodeScalarView(
        unicodeScalars.flatMap { scalar -> [Unicode.Scalar] in
          switch scalar {
          case "\n": ["\\", "n"]
          case "\t": ["\\", "t"]
          case "\r": ["\\", "r"]
          case _ where scalar.movesCursor: Array("\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
          default: [scalar]
          }
        }))
  }
}

extension Unicode.Scalar {
  /// Control characters, and those that change the direction of what follows.
  fileprivate var movesCursor: Bool {
    switch properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    case .format: (0x202A...0x202E).contains(value) || (0x2066...0x2069).contains(value)
    default: false
    }
  }
}
