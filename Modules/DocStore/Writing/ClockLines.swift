import Synchronization

/// Lines of the log that each document of a peer may call for: at most one a minute of each kind.
final class ClockLines: Sendable {
  enum Kind: Hashable, Sendable {
    /// A document from a time so far ahead that it is not taken in.
    case farFuture
    /// A document from ahead of what this store's clock follows.
    case ahead
  }

  private struct Said {
    /// By wall time, in milliseconds.
    let time: UInt64
    var passedOver = 0
  }

  private static let interval: UInt64 = 60_000

  private let said = Mutex<[Kind: Said]>([:])

  /// Whether a line of this kind is to be written now.
  ///
  /// - Parameters:
  ///   - kind: What the line tells.
  ///   - now: Wall time in milliseconds; a clock that went back hides no line.
  /// - Returns: How many were passed over since the last one; `nil` when this one is passed over, too.
  func passedOver(before kind: Kind, now: UInt64) -> Int? {
    said.withLock { said in
      if let last = said[kind], now >= last.time, now - last.time < Self.interval {
        said[kind]?.passedOver += 1
        return nil
      }
      defer { said[kind] = Said(time: now) }
      return said[kind]?.passedOver ?? 0
    }
  }
}

extension WriterSettings {
  /// Writes a line to the log, unless one of its kind was written within a minute.
  func write(_ level: StoreLogLevel, _ kind: ClockLines.Kind, _ line: String) {
    guard let passedOver = clockLines.passedOver(before: kind, now: options.now()) else { return }
    let note = passedOver == 0 ? "" : " (\(passedOver) such lines were passed over)"
    options.write(level, line + note)
  }
}
