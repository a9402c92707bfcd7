import CRDTCore

/// Limits log lines that any document of a peer may cause: one a minute or an hour for each kind.
final class ClockLines: Sendable {
  enum Kind: Hashable, Sendable {
    /// A document from so far in the future that it is rejected.
    case farFuture
    /// A document from further in the future than this store's clock follows.
    case ahead
    /// The wall clock is behind the store's own writes.
    case behind

    /// For how many milliseconds further lines are suppressed.
    var interval: UInt64 { self == .behind ? 3_600_000 : 60_000 }
  }

  private struct Said {
    /// The wall time of the line, in milliseconds.
    let time: UInt64
    var passedOver = 0
  }

  private let said = Monitor<[Kind: Said]>([:])

  /// Whether to write a line of this kind now.
  ///
  /// - Parameters:
  ///   - kind: The kind of the line.
  ///   - now: Wall time in milliseconds; a clock that went back suppresses no line.
  /// - Returns: How many lines were suppressed since the last one; `nil` if this one is suppressed, too.
  func passedOver(before kind: Kind, now: UInt64) -> Int? {
    said.withLock { said in
      if let last = said[kind], now >= last.time, now - last.time < kind.interval {
        said[kind]?.passedOver += 1
        return nil
      }
      defer { said[kind] = Said(time: now) }
      return said[kind]?.passedOver ?? 0
    }
  }
}

extension WriterSettings {
  /// How many milliseconds the store's clock may be ahead of the wall clock without a log line.
  static let tolerableLead = UInt64(HybridClock.maximumLead / .milliseconds(1))

  /// Logs that the wall clock is behind the store's own writes.
  func warnOfLead(_ reading: ClockReading, _ now: UInt64) {
    let seconds = (reading.milliseconds - now) / 1_000
    write(
      .warning, .behind,
      "The wall clock is \(seconds) seconds behind what this store has written: it was ahead then, or it is wrong now. Until it has come that "
        + "far, writes made here win every conflict. If the clock is right now, call trustClock(), or dunlin clock --trust"
    )
  }

  /// Writes a line to the log, unless one of its kind was written recently.
  func write(_ level: StoreLogLevel, _ kind: ClockLines.Kind, _ line: String) {
    guard let passedOver = clockLines.passedOver(before: kind, now: options.now()) else { return }
    let note = passedOver == 0 ? "" : " (\(passedOver) such lines were passed over)"
    options.write(level, line + note)
  }
}
