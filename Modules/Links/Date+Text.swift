#if TLS
  package import Foundation

  extension Date {
    /// The time in the one form that messages, logs and programs print: `2026-11-30T09:20:51.000Z`.
    ///
    /// It is ISO 8601 in UTC with milliseconds, as dates stand in documents.
    package var timeText: String {
      utcText ?? formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// The same without a calendar, which takes much longer; `nil` for times before 1970 or after 9999.
    ///
    /// Source: Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
    private var utcText: String? {
      let since1970 = timeIntervalSince1970
      guard since1970 >= 0, since1970 < 253_402_300_800 else { return nil }
      let seconds = Int(since1970)
      let milliseconds = Int((since1970 - Double(seconds)) * 1_000)
      let (days, time) = seconds.quotientAndRemainder(dividingBy: 86_400)
      // Years begin in March here, so that the leap day is their last day.
      let shifted = days + 719_468
      let (era, dayOfEra) = shifted.quotientAndRemainder(dividingBy: 146_097)
      let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
      let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
      let month = (5 * dayOfYear + 2) / 153
      let day = dayOfYear - (153 * month + 2) / 5 + 1
      let year = yearOfEra + era * 400 + (month >= 10 ? 1 : 0)
      return String(unsafeUninitializedCapacity: 24) { text in
        func put(_ number: Int, _ place: Int, _ count: Int) {
          var rest = number
          for index in (place..<place + count).reversed() {
            // SAFETY: all places are below the capacity.
            unsafe text[index] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
          }
        }
        for (index, byte) in "0000-00-00T00:00:00.000Z".utf8.enumerated() { unsafe text[index] = byte }
        put(year, 0, 4)
        put(month < 10 ? month + 3 : month - 9, 5, 2)
        put(day, 8, 2)
        put(time / 3_600, 11, 2)
        put(time / 60 % 60, 14, 2)
        put(time % 60, 17, 2)
        put(milliseconds, 20, 3)
        return 24
      }
    }
  }
#endif
