#if TLS
  import Foundation

  /// A time as HTTP writes it, for example `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7).
  enum HTTPDate {
    private static let months = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Reads a time; `nil` for anything else, including the obsolete forms.
    static func read(_ text: String) -> Date? {
      let words = text.split(separator: " ")
      guard words.count == 6, words[5] == "GMT", let month = months.firstIndex(of: String(words[2])),
        let day = Int(words[1]), let year = Int(words[3])
      else { return nil }
      let time = words[4].split(separator: ":").compactMap { Int($0) }
      guard time.count == 3, 1...31 ~= day, 1_970...9_999 ~= year, 0...23 ~= time[0], 0...59 ~= time[1],
        0...60 ~= time[2]
      else { return nil }
      var calendar = Calendar(identifier: .gregorian)
      calendar.timeZone = .gmt
      return calendar.date(
        from: DateComponents(
          year: year, month: month + 1, day: day, hour: time[0], minute: time[1], second: time[2]))
    }
  }
#endif
