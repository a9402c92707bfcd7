#if TLS
  package import Foundation

  extension Date {
    /// The time in the one form that messages, logs and programs print: `2026-11-30T09:20:51.000Z`.
    ///
    /// It is ISO 8601 in UTC with milliseconds, as dates stand in documents.
    package var timeText: String { formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }
  }
#endif
