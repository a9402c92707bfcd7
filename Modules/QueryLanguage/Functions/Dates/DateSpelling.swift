/// How the text of a date spells its moment.
///
/// Texts of dates compare as texts, so a function that changes a date keeps the spelling of its argument.
package struct DateSpelling: Hashable, Sendable {
  /// How the time zone is written.
  enum Zone: Hashable, Sendable {
    /// `Z` or `z`, for the offset zero.
    case letter(UInt8)
    /// `+01:00`.
    case colon
    /// `+0100`.
    case compact
    /// `+01`.
    case hours

    /// - Parameters:
    ///   - letter: The first byte of the zone.
    ///   - count: The number of bytes of the zone.
    init(letter: UInt8?, count: Int) {
      switch count {
      case 1: self = .letter(letter ?? UInt8(ascii: "Z"))
      case 3: self = .hours
      case 5: self = .compact
      default: self = .colon
      }
    }
  }

  /// The most digits of a fraction of a second that are written; further digits of an argument are dropped.
  static let fractionLimit = 9

  /// The byte between the date and the time: `T`, `t` or a space.
  var separator: UInt8
  /// Whether seconds are written even if they are zero.
  var hasSeconds: Bool
  /// The byte before the fraction of a second: a point or a comma.
  var fractionMark: UInt8
  /// The least number of digits after the point.
  var fractionDigits: Int
  /// Whether a space is before the time zone.
  var hasGap: Bool
  var zone: Zone

  /// The spelling of a date that an application stores: `2026-11-21T07:00:00.000Z`.
  ///
  /// It is the spelling of every date that is not made from a text.
  package static let stored = DateSpelling(
    separator: UInt8(ascii: "T"), hasSeconds: true, fractionMark: UInt8(ascii: "."), fractionDigits: 3,
    hasGap: false, zone: .letter(UInt8(ascii: "Z")))

  /// The seconds and their fraction with the marks before them; both are written where they are not zero.
  func seconds(of fields: Instant.Fields) -> String {
    let isWhole = fields.millisecond == 0
    guard hasSeconds || fields.second != 0 || !isWhole else { return "" }
    let seconds = ":" + DateText.padded(fields.second, 2)
    guard fractionDigits > 0 || !isWhole else { return seconds }
    var digits = DateText.padded(fields.millisecond, 3)
    // Without a fraction in the argument, there are milliseconds or none.
    let least = fractionDigits == 0 ? 3 : fractionDigits
    while digits.utf8.count > least, digits.utf8.last == UInt8(ascii: "0") { digits.removeLast() }
    digits += String(repeating: "0", count: max(0, least - digits.utf8.count))
    return seconds + String(UnicodeScalar(fractionMark)) + digits
  }

  /// The time zone of an offset, in seconds east of Greenwich.
  func zone(_ offset: Int) -> String {
    let full = DateText.zone(offset)
    switch zone {
    case .letter(let letter): return offset == 0 ? String(UnicodeScalar(letter)) : full
    case .hours where offset % 3_600 == 0: return String(full.prefix(3))
    case .hours, .compact: return full.filter { $0 != ":" }
    case .colon: return full
    }
  }
}
