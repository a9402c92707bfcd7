import CRDTCore
import Failpoints

/// How pieces are to be packed: pinned by the application, or by how fast the link has shown itself.
struct PackingPolicy {
  enum Choice: Equatable {
    case stored
    case deflated(level: Int)
    case dense
  }

  /// Storing is judged after this long, and tried again this long after it was of no use.
  private static let trial = Duration.milliseconds(150)
  private static let pause = Duration.seconds(5)

  /// zlib's level, where the application has set one.
  let pinned: Int?
  /// Whether both ends are on one machine, where packing much costs more than it saves.
  let isLocal: Bool
  /// The compressor has to have held the link back for this long before pieces are stored.
  private let patience: Duration
  /// The peer's hello took long: the link may be slow.
  var isLongLink = false
  private var heldBack: (since: Duration, plainBytes: UInt64)?
  private var storing: (since: Duration, plainBytes: UInt64, formerRate: Double)?
  private var nextTrial: Duration = .zero

  init(level: Int?, isLocal: Bool, patience: Duration) {
    self.patience = patience
    pinned = level.map { (0...9).contains($0) ? $0 : 1 }
    self.isLocal = isLocal
  }

  /// What a piece holds, and so what waits for it.
  enum Use {
    /// One of many pieces, so that the link would wait for the compressor.
    case bulk
    /// A change alone, or a few, on a link with nothing else under way: somebody may be waiting to see it.
    case change
    /// A part of a large document or transaction, which is packed beside others.
    case large
    /// Many documents of a few bytes each: most of it are ids, in which little repeats.
    case ids
    case other

    /// Whether it is worth looking for what repeats: for ids the quickest search takes two thirds of the time, and
    /// finds what takes more than short codes for frequent bytes.
    func seeksRepeats(at level: Int) -> Bool { self != .ids || level > 1 }

    /// zlib's level where packing is to hold nothing up: the second takes a fifth longer than the first and saves three
    /// hundredths of a text.
    var quickLevel: Int { self == .large ? 2 : 1 }
  }

  /// How the next piece is packed, given the bytes that the link moves in a second, where they are known.
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

  /// Learns at the end of each call whether there was more to pack, with room for it on the link.
  ///
  /// - Parameters:
  ///   - isHeldBack: There was, so the link waited for the compressor.
  ///   - isIdle: Nothing waits, and nothing is on its way.
  ///   - plainBytes: All that was sent so far.
  ///   - rate: Bytes that the link moves in a second, where that is known.
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
