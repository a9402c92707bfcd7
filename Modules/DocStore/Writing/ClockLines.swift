import CRDTCore
import Synchronization

/// Lines of the log that each document of a peer may call for: at most one a minute of each kind, or one an hour.
final class ClockLines: Sendable {
  enum Kind: Hashable, Sendable {
    /// A document from a time so far ahead that it is not taken in.
    case farFuture
    /// A document from ahead of what this store's clock follows.
    case ahead
    /// The wall clock is behind the store's own writes.
    case behind

    /// Milliseconds for which another line is passed over.
    var interval: UInt64 { self == .behind ? 3_600_000 : 60_000 }
  }

  private struct Said {
    /// By wall time, in milliseconds.
    let time: UInt64
    var passedOver = 0
  }

  private let said = Mutex<[Kind: Said]>([:])

  /// Whether a line of this kind is to be written now.
  ///
  /// - Parameters:
  ///   - kind: What the line tells.
  ///   - now: Wall time in milliseconds; a clock that went back hides no line.
  /// - Returns: How many were passed over since the last one; `nil` when this one is passed over, too.
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
  /// Milliseconds that the store's clock may be ahead of the wall clock without a word.
  static let tolerableLead = UInt64(HybridClock.maximumLead / .milliseconds(1))

  /// Says that the wall clock is behind the store's own writes.
  func warnOfLead(_ reading: ClockReading, _ now: UInt64) {
    let seconds = (reading.milliseconds - now) / 1_000
    write(
      .warning, .behind,
      "The wall clock is \(seconds) seconds behind what this store has written: it was ahead then, or it is wrong now. Until it has come that "
        + "far, writes made here win every conflict. If the clock is right now, call trustClock(), or dunlin clock --trust"
    )
  }

  /// Writes a line to the log, unless one of its kind was written within a minute.
  func write(_ level: StoreLogLevel, _ kind: ClockLines.Kind, _ line: String) {
    guard let passedOver = clockLines.passedOver(before: kind, now: options.now()) else { return }
    let note = passedOver == 0 ? "" : " (\(passedOver) such lines were passed over)"
    options.write(level, line + note)
  }
}
