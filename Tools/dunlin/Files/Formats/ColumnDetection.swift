/// Finds out what the values of a column are, from those that come first.
///
/// Text counts as a number only if the number keeps everything that the text says. So `007`, `+1`, `1e5`,
/// ` 7`, numbers of more than 64 bits and fractions of more than 15 digits are text. Quoted values are text.
struct ColumnDetection {
  private var kinds: Set<ColumnType> = []

  /// Takes note of a value.
  mutating func note(_ cell: SeparatedCell) {
    if !cell.isMissing { kinds.insert(Self.kind(of: cell)) }
  }

  /// The type of the column: text where its values are of several.
  var type: ColumnType {
    switch kinds {
    case [.int]: .int
    case [.double], [.int, .double]: .double
    case [.bool]: .bool
    default: .string
    }
  }

  /// What one value is by itself.
  static func kind(of cell: SeparatedCell) -> ColumnType {
    guard !cell.isQuoted else { return .string }
    if cell.text == "true" || cell.text == "false" { return .bool }
    return number(cell.text) ?? .string
  }

  private static func number(_ text: String) -> ColumnType? {
    let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
    func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    let whole = digits.prefix(while: isDigit)
    // A zero at the front says that it is no number, or that it is 0.
    guard let first = whole.first, first != UInt8(ascii: "0") || whole.count == 1 else { return nil }
    var rest = digits[whole.endIndex...]
    if rest.isEmpty {
      let isMinusZero = first == UInt8(ascii: "0") && digits.count < text.utf8.count
      return isMinusZero || Int64(text) == nil ? nil : .int
    }
    guard rest.popFirst() == UInt8(ascii: ".") else { return nil }
    let fraction = rest.prefix(while: isDigit)
    guard !fraction.isEmpty else { return nil }
    var exponent = rest[fraction.endIndex...]
    if exponent.isEmpty { return isExact(text, digitCount: whole.count + fraction.count) ? .double : nil }
    guard exponent.popFirst() == UInt8(ascii: "e") else { return nil }
    if let sign = exponent.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
      exponent.removeFirst()
    }
    guard !exponent.isEmpty, exponent.allSatisfy(isDigit), let number = Double(text) else { return nil }
    return number.isFinite && number.description == text ? .double : nil
  }

  /// Whether a double is exactly this number.
  ///
  /// 15 digits always fit. More digits fit if they are the shortest form of the double.
  private static func isExact(_ text: String, digitCount: Int) -> Bool {
    guard let number = Double(text) else { return false }
    return digitCount <= 15 || number.description == text
  }
}
