/// A format of dates: `YYYY-MM-DD hh:mm:ss.sss TZD`, or `%Y-%m-%d`; empty is ISO 8601.
struct DateFormat {
  private enum Part: Hashable {
    case text(String)
    case year, shortYear, month, monthName, shortMonthName, day, hour, hour12, minute, second, millisecond
    case half, dayName, shortDayName, dayOfYear, weekday, zone, compactZone, epochSeconds
  }

  private var parts: [Part] = []

  /// - Returns: `nil` for a percent sign before a letter without meaning.
  init?(_ format: String) {
    guard format.utf8.count <= 256 else { return nil }
    guard format.contains("%") ? readPercent(format) : readWords(format) else { return nil }
  }

  private mutating func append(_ text: String) {
    if case .text(let before) = parts.last {
      parts[parts.count - 1] = .text(before + text)
    } else {
      parts.append(.text(text))
    }
  }

  private mutating func readPercent(_ format: String) -> Bool {
    let letters: [Character: [Part]] = [
      "Y": [.year], "y": [.shortYear], "m": [.month], "d": [.day], "H": [.hour], "I": [.hour12],
      "M": [.minute],
      "S": [.second], "L": [.millisecond], "f": [.millisecond], "p": [.half], "B": [.monthName],
      "b": [.shortMonthName], "A": [.dayName], "a": [.shortDayName], "j": [.dayOfYear], "u": [.weekday],
      "z": [.compactZone], "Z": [.zone], "s": [.epochSeconds], "%": [.text("%")],
      "F": [.year, .text("-"), .month, .text("-"), .day],
      "T": [.hour, .text(":"), .minute, .text(":"), .second], "R": [.hour, .text(":"), .minute],
    ]
    var rest = format[...]
    while let next = rest.popFirst() {
      guard next == "%" else {
        append(String(next))
        continue
      }
      guard let letter = rest.popFirst(), let meaning = letters[letter] else { return false }
      for part in meaning { if case .text(let text) = part { append(text) } else { parts.append(part) } }
    }
    return true
  }

  private mutating func readWords(_ format: String) -> Bool {
    // Longer words come first; minutes are lower case and months upper case.
    let words: [(String, Part)] = [
      ("YYYY", .year), ("YY", .shortYear), ("Month", .monthName), ("Mon", .shortMonthName), ("MM", .month),
      ("DDD", .dayOfYear), ("DD", .day), ("Day", .dayName), ("Dy", .shortDayName), ("HH24", .hour),
      ("HH12", .hour12), ("HH", .hour), ("hh", .hour), ("MI", .minute), ("mm", .minute),
      ("sss", .millisecond),
      ("SSS", .millisecond), ("ss", .second), ("SS", .second), ("AM", .half), ("PM", .half), ("TZD", .zone),
      ("TZ", .zone),
    ]
    var rest = format[...]
    while !rest.isEmpty {
      if let (word, part) = words.first(where: { rest.hasPrefix($0.0) }) {
        parts.append(part)
        rest = rest.dropFirst(word.count)
      } else if let next = rest.popFirst() {
        append(String(next))
      }
    }
    return true
  }

  /// The text of a moment; an empty format is ISO 8601 in the given spelling.
  func text(of instant: Instant, as spelling: DateSpelling = .stored) -> String {
    if parts.isEmpty { return DateText.text(of: instant, as: spelling) }
    return parts.reduce(into: "") { $0 += Self.text($1, instant, instant.fields) }
  }

  private static func text(_ part: Part, _ instant: Instant, _ fields: Instant.Fields) -> String {
    switch part {
    case .text(let text): text
    case .year: DateText.padded(fields.year, 4)
    case .shortYear: DateText.padded(fields.year % 100, 2)
    case .month: DateText.padded(fields.month, 2)
    case .monthName: DateNames.months[fields.month - 1]
    case .shortMonthName: String(DateNames.months[fields.month - 1].prefix(3))
    case .day: DateText.padded(fields.day, 2)
    case .hour: DateText.padded(fields.hour, 2)
    case .hour12: DateText.padded((fields.hour + 11) % 12 + 1, 2)
    case .minute: DateText.padded(fields.minute, 2)
    case .second: DateText.padded(fields.second, 2)
    case .millisecond: DateText.padded(fields.millisecond, 3)
    case .half: fields.hour < 12 ? "AM" : "PM"
    case .dayName: DateNames.days[instant.weekday - 1]
    case .shortDayName: String(DateNames.days[instant.weekday - 1].prefix(3))
    case .dayOfYear: DateText.padded(instant.dayOfYear, 3)
    case .weekday: String(instant.weekday)
    case .zone: DateText.zone(instant.offset)
    case .compactZone: DateText.zone(instant.offset).filter { $0 != ":" }
    case .epochSeconds: String((instant.milliseconds - Int64(fields.millisecond)) / 1_000)
    }
  }

  /// The moment of a text in this format; without a zone in the text, it is that of Greenwich.
  func parse(_ text: String) -> Instant? {
    if parts.isEmpty { return DateText.parse(text) }
    var reader = DigitReader(text)
    var fields = Instant.Fields(year: 1_970)
    var isAfternoon: Bool?
    var offset = 0
    for part in parts {
      guard Self.read(part, &reader, &fields, &isAfternoon, &offset) else { return nil }
    }
    guard reader.isAtEnd else { return nil }
    if let isAfternoon {
      guard (1...12).contains(fields.hour) else { return nil }
      fields.hour = fields.hour % 12 + (isAfternoon ? 12 : 0)
    }
    return Instant(fields, offset: offset)
  }

  private static func read(
    _ part: Part, _ reader: inout DigitReader, _ fields: inout Instant.Fields, _ isAfternoon: inout Bool?,
    _ offset: inout Int
  ) -> Bool {
    var number: Int?
    switch part {
    case .text(let text):
      for scalar in text.unicodeScalars where !reader.accept(scalar) { return false }
      return true
    case .half:
      isAfternoon = reader.accept(word: "PM")
      return isAfternoon == true || reader.accept(word: "AM")
    case .zone, .compactZone:
      guard let zone = reader.zone() else { return false }
      offset = zone
      return true
    case .monthName, .shortMonthName:
      for (index, name) in DateNames.months.enumerated()
      where reader.accept(word: part == .monthName ? name : String(name.prefix(3))) {
        fields.month = index + 1
        return true
      }
      return false
    case .year: number = reader.number(4)
    case .shortYear: number = reader.number(2)
    case .millisecond: number = reader.number(3)
    case .month, .day, .hour, .hour12, .minute, .second: number = reader.number(2, least: 1)
    case .dayName, .shortDayName, .dayOfYear, .weekday, .epochSeconds: return false
    }
    guard let number else { return false }
    switch part {
    case .year: fields.year = number
    // Two digits are read as POSIX does.
    case .shortYear: fields.year = number < 69 ? 2_000 + number : 1_900 + number
    case .month: fields.month = number
    case .day: fields.day = number
    case .hour12:
      guard (1...12).contains(number) else { return false }
      fields.hour = number
    case .hour: fields.hour = number
    case .minute: fields.minute = number
    case .second: fields.second = number
    default: fields.millisecond = number
    }
    return true
  }
}
