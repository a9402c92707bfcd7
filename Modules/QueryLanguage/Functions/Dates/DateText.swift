/// Dates as ISO 8601 texts: `2026-11-21T07:00:00.000+01:00`.
package enum DateText {
  /// The milliseconds since 1970 of a text.
  ///
  /// It is `nil` without a time zone, and for a date that is not in the calendar.
  package static func milliseconds(of text: String) -> Int64? { parse(text)?.milliseconds }

  /// The moment of a text; `nil` without a time zone, and for an invalid date.
  static func parse(_ text: String) -> Instant? { read(text)?.instant }

  /// The moment of a text, and how the text spells it; `nil` as above.
  static func read(_ text: String) -> (instant: Instant, spelling: DateSpelling)? {
    var reader = DigitReader(text)
    guard let year = reader.number(4), reader.accept("-"), let month = reader.number(2), reader.accept("-"),
      let day = reader.number(2)
    else { return nil }
    var fields = Instant.Fields(year: year, month: month, day: day)
    var spelling = DateSpelling.stored
    spelling.separator = reader.next ?? 0
    guard reader.accept("T") || reader.accept("t") || reader.accept(" ") else { return nil }
    guard let hour = reader.number(2), reader.accept(":"), let minute = reader.number(2) else { return nil }
    fields.hour = hour
    fields.minute = minute
    spelling.hasSeconds = reader.accept(":")
    spelling.fractionDigits = 0
    if spelling.hasSeconds {
      guard let second = reader.number(2) else { return nil }
      fields.second = second
      let mark = reader.next
      if let mark, reader.accept(".") || reader.accept(",") {
        let start = reader.offset
        guard let fraction = reader.fraction() else { return nil }
        fields.millisecond = fraction
        spelling.fractionMark = mark
        spelling.fractionDigits = min(reader.offset - start, DateSpelling.fractionLimit)
      }
    }
    spelling.hasGap = reader.accept(" ")
    let start = reader.offset
    let letter = reader.next
    guard let offset = reader.zone(), reader.isAtEnd else { return nil }
    spelling.zone = DateSpelling.Zone(letter: letter, count: reader.offset - start)
    return Instant(fields, offset: offset).map { ($0, spelling) }
  }

  /// Whether two texts of dates have the order and the equality of their moments.
  ///
  /// They have if they are spelled alike, with one offset.
  package static func areSpelledAlike(_ left: String, _ right: String) -> Bool {
    guard let left = read(left), let right = read(right) else { return false }
    return left.spelling == right.spelling && left.instant.offset == right.instant.offset
  }

  /// The text of a moment in a spelling.
  package static func text(of instant: Instant, as spelling: DateSpelling = .stored) -> String {
    let fields = instant.fields
    let date = padded(fields.year, 4) + "-" + padded(fields.month, 2) + "-" + padded(fields.day, 2)
    let time = padded(fields.hour, 2) + ":" + padded(fields.minute, 2)
    return date + String(UnicodeScalar(spelling.separator)) + time + spelling.seconds(of: fields)
      + (spelling.hasGap ? " " : "") + spelling.zone(instant.offset)
  }

  /// `+01:00`; `+00:00` at Greenwich.
  static func zone(_ offset: Int) -> String {
    let minutes = abs(offset) / 60
    return (offset < 0 ? "-" : "+") + padded(minutes / 60, 2) + ":" + padded(minutes % 60, 2)
  }

  static func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
  }
}

/// Reads numbers of fixed width from a text.
struct DigitReader {
  private let bytes: [UInt8]
  private(set) var offset = 0

  init(_ text: String) { bytes = Array(text.utf8) }

  var isAtEnd: Bool { offset == bytes.count }

  var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  mutating func accept(_ scalar: Unicode.Scalar) -> Bool {
    guard let next, UInt32(next) == scalar.value else { return false }
    offset += 1
    return true
  }

  /// Accepts a word in either case.
  mutating func accept(word: String) -> Bool {
    let wanted = Array(word.utf8)
    guard bytes.count - offset >= wanted.count else { return false }
    for index in wanted.indices where bytes[offset + index] | 0x20 != wanted[index] | 0x20 { return false }
    offset += wanted.count
    return true
  }

  /// Reads a number of `least` to `most` digits.
  mutating func number(_ most: Int, least: Int? = nil) -> Int? {
    let start = offset
    var number = 0
    while offset - start < most, let digit = next, (0x30...0x39).contains(digit) {
      number = number * 10 + Int(digit - 0x30)
      offset += 1
    }
    return offset - start >= least ?? most ? number : nil
  }

  /// Reads a fraction of a second as milliseconds; further digits are ignored.
  mutating func fraction() -> Int? {
    let start = offset
    var milliseconds = 0
    while let digit = next, (0x30...0x39).contains(digit) {
      if offset - start < 3 { milliseconds = milliseconds * 10 + Int(digit - 0x30) }
      offset += 1
    }
    guard offset > start else { return nil }
    for _ in min(offset - start, 3)..<3 { milliseconds *= 10 }
    return milliseconds
  }

  /// Reads a zone as seconds east of Greenwich: `Z`, `+01:00`, `+0100`, `+01`.
  mutating func zone() -> Int? {
    if accept("Z") || accept("z") { return 0 }
    let isWest = accept("-")
    guard isWest || accept("+"), let hours = number(2), hours < 24 else { return nil }
    _ = accept(":")
    var minutes = 0
    if let next, (0x30...0x39).contains(next) {
      guard let given = number(2), given < 60 else { return nil }
      minutes = given
    }
    return (hours * 60 + minutes) * (isWest ? -60 : 60)
  }
}
