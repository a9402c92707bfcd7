import CRDTCore
import DocStore

/// A walk over documents that can stop anywhere and go on later.
protocol SteppedScan {
  var isDone: Bool { get }

  /// Goes on as far as the budget of records goes.
  mutating func step(
    _ transaction: borrowing ReadTransaction, _ interest: inout Interest, damaged: (DamagedRecord) -> Void,
    budget: inout Int) throws
}

extension SessionContext {
  /// Goes on with a scan, on a snapshot of now.
  func advance(
    _ scan: inout some SteppedScan, _ interest: inout Interest, budget: inout Int
  ) throws(SyncError) {
    try read { try scan.step($0, &interest, damaged: tellDamaged, budget: &budget) }
  }
}

/// A walk over a range of a collection that computes what an interest matches in each part of it.
///
/// It can stop anywhere and go on later, also on another snapshot: what changes in between is told live. A whole
/// collection is visited in the order in which it is stored, which is many times faster than by ids: sums do not
/// depend on the order.
struct RangeScan: SteppedScan {
  let range: KeyRange
  /// Exclusive upper bounds of all parts but the last.
  let bounds: [[UInt8]]
  private(set) var fingerprints: [Fingerprint]
  /// Documents in the range that the interest does not match, deleted ones among them.
  private(set) var others: UInt64 = 0
  /// The first matches, up to the number that is worth listing and one more.
  private(set) var first: [DocumentHash] = []
  /// Ids from all over the range, where it is a whole collection that is not cut yet.
  private(set) var sample = IDSample()
  private(set) var isDone = false
  private var place: Place
  /// The last document that there was at the first step: what is new since is told live.
  private var last: DocumentNumber?
  private var part = 0

  /// Where it goes on.
  private enum Place {
    case id([UInt8])
    case number(DocumentNumber)
  }

  init(_ range: KeyRange, bounds: [[UInt8]] = []) {
    self.range = range
    self.bounds = bounds
    fingerprints = Array(repeating: Fingerprint(), count: bounds.count + 1)
    place = range.isWhole ? .number(DocumentNumber(1)) : .id(range.from)
  }

  var whole: Fingerprint {
    fingerprints.reduce(into: Fingerprint()) { sum, part in
      sum.count &+= part.count
      sum.sum &+= part.sum
    }
  }

  /// Visits records until the range or the budget ends; damaged ones count as if they were not here.
  mutating func step(
    _ transaction: borrowing ReadTransaction, _ interest: inout Interest, damaged: (DamagedRecord) -> Void,
    budget: inout Int
  ) throws {
    guard let collection = try transaction.collection(range.collection),
      let matcher = interest.matcher(for: collection)
    else {
      isDone = true
      return
    }
    var state = self
    var left = budget
    state.isDone = true
    func take(_ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView) {
      left -= 1
      state.take(id, summary, matcher.matches(id, record))
    }
    func pause(at place: Place) -> Bool {
      state.place = place
      state.isDone = false
      return false
    }
    switch place {
    case .number(let first):
      let last = last ?? transaction.lastNumber
      state.last = last
      guard first <= last else { break }
      try transaction.forEachIntactRecord(in: collection, numbers: first...last, damaged: damaged) {
        number, id, summary, record in
        guard left > 0 else { return pause(at: .number(number)) }
        take(id, summary, record)
        return true
      }
    case .id(let first):
      try transaction.forEachIntactRecord(
        in: collection, from: first, to: range.to.isEmpty ? nil : range.to, damaged: damaged
      ) { _, id, summary, record in
        guard left > 0 else { return pause(at: .id(id.copied)) }
        take(id, summary, record)
        return true
      }
    }
    budget = left
    if state.isDone { state.first.sort { $0.id < $1.id } }
    self = state
  }

  private mutating func take(_ id: RawSpan, _ summary: Summary, _ isMatch: Bool) {
    guard isMatch else {
      others &+= 1
      return
    }
    switch place {
    case .number:
      var above = bounds.count
      part = 0
      while part < above {
        let middle = (part + above) / 2
        let bound = bounds[middle]
        if id.compare(bound.span.bytes) >= 0 { part = middle + 1 } else { above = middle }
      }
      if bounds.isEmpty { sample.add(id) }
    case .id:
      while part < bounds.count {
        let bound = bounds[part]
        guard id.compare(bound.span.bytes) >= 0 else { break }
        part += 1
      }
    }
    let hash = Fingerprint.hash(id: id, summary: summary)
    fingerprints[part].add(hash)
    if first.count <= SyncLimits.listedWhereMuchDiffers {
      first.append(DocumentHash(id: DocumentID(trusted: id.copied), hash: hash))
    }
  }
}

/// Ids taken at even distances from a walk of any length, to cut what it went over into equal parts.
struct IDSample {
  private static let limit = 2_048
  private var ids: [[UInt8]] = []
  /// A power of two.
  private var distance = 1
  private var count = 0

  mutating func add(_ id: RawSpan) {
    defer { count &+= 1 }
    guard count & (distance - 1) == 0 else { return }
    ids.append(id.copied)
    guard ids.count == Self.limit else { return }
    ids = stride(from: 0, to: ids.count, by: 2).map { ids[$0] }
    distance *= 2
  }

  /// Upper bounds of all parts but the last.
  func bounds(parts: Int) -> [[UInt8]] {
    let ids = ids.sorted { $0.lexicographicallyPrecedes($1) }
    return (1..<parts).compactMap { part in
      let place = part * ids.count / parts
      guard place > (part - 1) * ids.count / parts else { return nil }
      return SplitScan.separator(ids[place - 1], ids[place])
    }
  }
}

/// A walk that cuts a range into parts of about equally many matches.
struct SplitScan: SteppedScan {
  let range: KeyRange
  private(set) var parts: [RangeAnswer.Part] = []
  private(set) var isDone = false
  private let partSize: UInt64
  private var current = Fingerprint()
  private var previous: [UInt8] = []
  private var cursor: [UInt8]

  /// Cuts a range with about `count` matches into parts of at least `least`.
  init(_ range: KeyRange, count: UInt64, least: UInt64) {
    self.range = range
    partSize = max(least, (count + UInt64(SyncLimits.splitParts) - 1) / UInt64(SyncLimits.splitParts))
    cursor = range.from
  }

  mutating func step(
    _ transaction: borrowing ReadTransaction, _ interest: inout Interest, damaged: (DamagedRecord) -> Void,
    budget: inout Int
  ) throws {
    var state = self
    var left = budget
    var paused = false
    if let collection = try transaction.collection(range.collection),
      let matcher = interest.matcher(for: collection)
    {
      try transaction.forEachIntactRecord(
        in: collection, from: cursor, to: range.to.isEmpty ? nil : range.to, damaged: damaged
      ) { _, id, summary, record in
        if left <= 0 {
          state.cursor = id.copied
          paused = true
          return false
        }
        left -= 1
        if matcher.matches(id, record) { state.take(id, summary) }
        return true
      }
    }
    budget = left
    state.isDone = !paused
    if state.isDone { state.parts.append(RangeAnswer.Part(to: [], fingerprint: state.current)) }
    self = state
  }

  private mutating func take(_ id: RawSpan, _ summary: Summary) {
    let bytes = id.copied
    if current.count >= partSize, parts.count < SyncLimits.splitParts - 1 {
      parts.append(RangeAnswer.Part(to: Self.separator(previous, bytes), fingerprint: current))
      current = Fingerprint()
    }
    current.add(Fingerprint.hash(id: id, summary: summary))
    previous = bytes
  }

  /// The shortest bytes above `low` that are not above `high`.
  static func separator(_ low: [UInt8], _ high: [UInt8]) -> [UInt8] {
    var common = 0
    while common < low.count, common < high.count, low[common] == high[common] { common += 1 }
    return Array(high.prefix(common + 1))
  }
}

extension RawSpan {
  /// The bytes with memory of their own.
  var copied: [UInt8] { unsafe withUnsafeBytes { unsafe Array($0) } }
}
