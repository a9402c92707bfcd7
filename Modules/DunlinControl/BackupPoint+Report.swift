package import CRDTCore
package import DocStore
import Foundation

extension BackupPoint {
  /// The point as commands and servers report it.
  package var values: [TextKey: Value] {
    [
      "point": .count(number), "isBase": .bool(isBase), "time": .string(Self.text(time)),
      "sequence": .count(sequence), "site": .string(site.description), "label": .string(label),
      "file": .string(file), "fileBytes": .count(fileBytes), "pages": .count(pageCount),
      "storePages": .count(storePageCount),
    ]
  }

  /// The time in the form in which programs print times.
  package var timeText: String { Self.text(time) }

  private static func text(_ milliseconds: UInt64) -> String {
    Date(timeIntervalSince1970: Double(milliseconds) / 1_000).formatted(BackupMoment.style)
  }
}

extension BackupMoment {
  fileprivate static var style: Date.ISO8601FormatStyle {
    Date.ISO8601FormatStyle(includingFractionalSeconds: true)
  }

  /// Reads a moment as people write it: a time such as `2026-11-30T12:00:00Z`, or the number of a commit.
  ///
  /// - Parameter text: The text; a time with or without fractions of a second.
  package init?(written text: String) {
    if let sequence = UInt64(text) {
      self = .sequence(sequence)
      return
    }
    guard let milliseconds = Self.milliseconds(text) else { return nil }
    self = .time(milliseconds)
  }

  /// The milliseconds since 1970 of a time in ISO 8601; `nil` for any other text.
  package static func milliseconds(_ text: String) -> UInt64? {
    guard let date = (try? style.parse(text)) ?? (try? Date.ISO8601FormatStyle().parse(text)) else {
      return nil
    }
    let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
    return milliseconds >= 0 && milliseconds < 1e18 ? UInt64(milliseconds) : nil
  }
}
