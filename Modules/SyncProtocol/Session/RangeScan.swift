import CRDTCore
import DocStore

/// A walk over a range of a collection that computes what an interest matches in each part of it.
///
/// It can stop anywhere and go on later, also on another snapshot: what changes in between is told live.
struct RangeScan {
  let range: KeyRange
  /// Exclusive upper bounds of all parts but the last.
  let bounds: [[UInt8]]
  private(set) var fingerprints: [Fingerprint]
  /// Documents in the range that the interest does not match, deleted ones among them.
  private(set) var others: UInt64 = 0
  /// The first matches, up to the number that is worth listing and one more.
  private(set) var first: [DocumentHash] = []
  private(set) var isDone = false
  private var cursor: [UInt8]
  private var part = 0

  init(_ range: KeyRange, bounds: [[UInt8]] = []) {
    self.range = range
    self.bounds = bounds
    fingerprints = Array(repeating: Fingerprint(), count: bounds.count + 1)
    cursor = range.from
  }

  var whole: Fingerprint {
    fingerprints.reduce(into: Fingerprint()) { sum, part in
      sum.count &+= part.count
      sum.sum &+= part.sum
    }
  }

  /// Visits records until the range or the budget ends; damaged ones count as if they were not here.
  mutating func step(
    _ transaction: borrowing ReadTransaction, _ interest: inout Interest, skipping oversize: Set<DocumentKey>,
    damaged: (DamagedRecord) -> Void, budget: inout Int
  ) throws {
    guard let collection = try transaction.collection(range.collection),
      let matcher = interest.matcher(for: collection)
    else {
      isDone = true
      return
    }
    var state = self
    var left = budget
    var paused = false
    try transaction.forEachIntactRecord(
      in: collection, from: cursor, to: range.to.isEmpty ? nil : range.to, damaged: damaged
    ) { _, id, summary, record in
      if left <= 0 {
        state.cursor = id.copied
        paused = true
        return false
      }
      left -= 1
      let isMatch =
        matcher.matches(id, record)
        && (oversize.isEmpty
          || !oversize.contains(DocumentKey(collection: collection.id, id: DocumentID(trusted: id.copied))))
      state.take(id, summary, isMatch)
      return true
    }
    budget = left
    state.isDone = !paused
    self = state
  }

  private mutating func take(_ id: RawSpan, _ summary: Summary, _ isMatch: Bool) {
    guard isMatch else {
      others &+= 1
      return
    }
    while part < bounds.count {
      let bound = bounds[part]
      guard id.compare(bound.span.bytes) >= 0 else { break }
      part += 1
    }
    let hash = Fingerprint.hash(id: id, summary: summary)
    fingerprints[part].add(hash)
    if first.count <= SyncLimits.listedDocuments {
      first.append(DocumentHash(id: DocumentID(trusted: id.copied), hash: hash))
    }
  }
}

/// A walk that cuts a range into parts of about equally many matches.
struct SplitScan {
  let range: KeyRange
  private(set) var parts: [RangeAnswer.Part] = []
  private(set) var isDone = false
  private let partSize: UInt64
  private var current = Fingerprint()
  private var previous: [UInt8] = []
  private var cursor: [UInt8]

  init(_ range: KeyRange, count: UInt64) {
    self.range = range
    partSize = max(1, (count + UInt64(SyncLimits.splitParts) - 1) / UInt64(SyncLimits.splitParts))
    cursor = range.from
  }

  mutating func step(
    _ transaction: borrowing ReadTransaction, _ interest: inout Interest, skipping oversize: Set<DocumentKey>,
    damaged: (DamagedRecord) -> Void, budget: inout Int
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
        let isMatch =
          matcher.matches(id, record)
          && (oversize.isEmpty
            || !oversize.contains(DocumentKey(collection: collection.id, id: DocumentID(trusted: id.copied))))
        if isMatch { state.take(id, summary) }
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
