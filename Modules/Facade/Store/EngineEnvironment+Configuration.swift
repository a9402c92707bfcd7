import DocStore
import Dispatch
import Foundation
import QueryEngine

extension DunlinConfiguration {
  /// What the engine gets from outside: clocks, time zones, the application's id, and listeners.
  func engineEnvironment(
    appID: String, _ reporter: Reporter, indexProgress: @escaping @Sendable (IndexProgress) -> Void
  ) -> EngineEnvironment {
    let milliseconds = milliseconds
    return EngineEnvironment(
      now: { DispatchTime.now().uptimeNanoseconds },
      wallClock: { Int64(clamping: milliseconds()) },
      zoneOffset: { zone, milliseconds in
        TimeZone(identifier: zone)?
          .secondsFromGMT(for: Date(timeIntervalSince1970: Double(milliseconds) / 1_000))
      }, appID: appID, indexProgress: indexProgress, log: { reporter.log(.warning, $0) })
  }
}
