import CRDTCore
import Failpoints

/// Decides how pieces are packed: by the application's setting, or by the measured rate of the link.
struct PackingPolicy {
  enum Choice: Equatable {
    case stored
    case deflated(level: Int)
    case dense
  }

  /// The duration of a trial of storing, and the minimum time from a failed trial to the next one.
  private static let trial = Duration.milliseconds(150)
  private static let pause = Duration.seconds(5)

  /// zlib's level, if the application has set one.
  let pinned: Int?
  /// Whether both ends are on one machine, where strong compression costs more than it saves.
  let isLocal: Bool
  /// How long the compressor must have held back the link before pieces are stored.
  private let patience: Duration
  /// Whether the peer's hello took long, so that the link may be slow.
  var isLongLink = false
  private var heldBack: (since: Duration, plainBytes: UInt64)?
  private var storing: (since: Duration, plainBytes: UInt64, formerRate: Double)?
  private var nextTrial: Duration = .zero

  init(level: Int?, isLocal: Bool, patience: Duration) {
    self.patience = patience
    pinned = level.map { (0...9).contains($0) ? $0 : 1 }
    self.isLocal = isLocal
  }

  /// What a piece contains, and so what waits for it.
  enum Use {
    /// One of many pieces, so that the link would wait for the compressor.
    case bulk
    /// One change, or a few, on a link with nothing else in flight: a user may be waiting to see it.
    case change
    /// A part of a large document or transaction, which is compressed while others are sent.
    case large
    /// Many documents of a few bytes each: most of the piece are ids, which have few repeats.
    case ids
    case other

    /// Whether searching for repeats is worthwhile at a level.
    ///
    /// For ids, the quickest search takes two thirds of the time, and its repeats take more bytes than
    /// short codes for frequent bytes.
    func seeksRepeats(at level: Int) -> Bool { self != .ids || level > 1 }

    /// zlib's level where compression must delay nothing.
    ///
    /// Level 2 takes a fifth longer than level 1 and saves 3 % of a text.
    var quickLevel: Int { self == .large ? 2 : 1 }
  }

  /// Chooses how to pack the next piece; `rate` is in bytes per second, if known.
  func choice(rate: Double?, for use: Use) -> Choice {
    if let pinned { return pinned == 0 ? .stored : .deflated(level: pinned) }
    if isLocal {
      guard use == .bulk || use == .change else { return .deflated(level: use.quickLevel) }
      SyncPoint.storedLocally.reached()
      return .stored
    }
    if storing != nil {
      SyncPoint.storedOnTrial.reached()
      return .stored
    }
    guard let rate else { return .deflated(level: isLongLink ? 9 : use.quickLevel) }
    switch rate {
    case ..<SyncLimits.denseLinkRate: return .dense
    case ..<1e6: return .deflated(level: 9)
    case ..<10e6: return .deflated(level: 6)
    default: return .deflated(level: use.quickLevel)
    }
  }

  /// Records, at the end of each call, whether there was more to compress and room for it on the link.
  ///
  /// - Parameters:
  ///   - isHeldBack: Whether there was, so that the link waited for the compressor.
  ///   - isIdle: Whether nothing waits and nothing is in flight.
  ///   - plainBytes: All plain bytes sent so far.
  ///   - rate: The rate of the link in bytes per second, if known.
  ///   - now: The time.
  mutating func note(isHeldBack: Bool, isIdle: Bool, plainBytes: UInt64, rate: Double?, now: Duration) {
    guard pinned == nil, !isLocal else { return }
    if let storing {
      if isIdle { return self.storing = nil }
      let elapsed = now - storing.since
      guard elapsed >= Self.trial else { return }
      let moved = Double(plainBytes - storing.plainBytes) / (elapsed / .seconds(1))
      self.storing = nil
      if moved < storing.formerRate {
        nextTrial = now + Self.pause
      } else {
        self.storing = (now, plainBytes, storing.formerRate)
      }
      return
    }
    guard isHeldBack, now >= nextTrial, (rate ?? .infinity) >= 10e6 else { return heldBack = nil }
    guard let heldBack else { return heldBack = (now, plainBytes) }
    let elapsed = now - heldBack.since
    guard elapsed >= patience else { return }
    storing = (now, plainBytes, Double(plainBytes - heldBack.plainBytes) / (elapsed / .seconds(1)))
    self.heldBack = nil
  }
}
