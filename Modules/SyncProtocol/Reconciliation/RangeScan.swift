import CRDTCore
import DocStore

/// A scan over a range of a collection that computes the fingerprint of the matches in each subrange.
///
/// The scan can pause anywhere and continue on another snapshot; the session sends changes in between
/// separately. A whole collection is visited in storage order, which is many times faster than by id. Sums do
/// not depend on the order.
struct RangeScan {
  let range: KeyRange
  /// The exclusive upper bounds of all subranges but the last.
  let bounds: [[UInt8]]
  private(set) var fingerprints: [Fingerprint]
  /// The documents that the scan saw, to be queried when it is done.
  let digest: RangeDigest
  private(set) var isDone = false
  private var place: Place
  /// The last document at the first step; later ones are sent as live changes.
  private var last: DocumentNumber?
  private var subrange = 0

  /// Where the scan continues.
  private enum Place {
    case id([UInt8])
    case number(DocumentNumber)
  }

  init(_ range: KeyRange, bounds: [[UInt8]] = []) {
    self.range = range
    self.bounds = bounds
    fingerprints = Array(repeating: Fingerprint(), count: bounds.count + 1)
    digest = RangeDigest(range)
    place = range.isWhole ? .number(DocumentNumber(1)) : .id(range.from)
  }

  /// Visits records until the range or the budget ends; damaged records count as absent.
  ///
  /// So do documents that the other peer may not read, for which there is a `rule`.
  mutating func step(
    _ snapshot: borrowing ReadTransaction, _ interest: Interest, rule: ReadRule? = nil,
    damaged: (DamagedRecord) -> Void, budget: inout Int
  ) throws {
    digest.sequence = digest.sequence ?? snapshot.sequence
    guard let collection = try snapshot.collection(range.collection),
      let matcher = interest.matcher(for: collection)
    else {
      isDone = true
      return
    }
    var rule = rule
    rule?.resolve(collection.keys)
    var state = self
    var left = budget
    state.isDone = true
    func include(
      _ number: DocumentNumber, _ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView
    ) {
      left -= 1
      if let rule, !rule.allows(id, record) { return }
      state.visit(
        number, id, hash: Fingerprint.hash(id: id, summary: summary), isMatch: matcher.matches(id, record))
    }
    func pause(at place: Place) -> Bool {
      state.place = place
      state.isDone = false
      return false
    }
    switch place {
    case .number(let first):
      let last = last ?? snapshot.lastNumber
      state.last = last
      guard first <= last else { break }
      try snapshot.forEachIntactRecord(in: collection, numbers: first...last, damaged: damaged) {
        number, id, summary, record in
        guard left > 0 else { return pause(at: .number(number)) }
        include(number, id, summary, record)
        return true
      }
    case .id(let first):
      try snapshot.forEachIntactRecord(
        in: collection, from: first, to: range.to.isEmpty ? nil : range.to, damaged: damaged
      ) { number, id, summary, record in
        guard left > 0 else { return pause(at: .id(id.copied)) }
        include(number, id, summary, record)
        return true
      }
    }
    budget = left
    self = state
  }

  /// Records that every document was visited.
  mutating func finish() { isDone = true }

  /// Adds one document; in a range that is not a whole collection, ids must ascend.
  mutating func visit(
    _ number: DocumentNumber, _ id: RawSpan, hash: @autoclosure () -> UInt64, isMatch: Bool
  ) {
    guard isMatch else { return digest.addOther(id, number: number) }
    switch place {
    case .number:
      var above = bounds.count
      subrange = 0
      while subrange < above {
        let middle = (subrange + above) / 2
        let bound = bounds[middle]
        if id.compare(bound.span.bytes) >= 0 { subrange = middle + 1 } else { above = middle }
      }
    case .id:
      while subrange < bounds.count {
        let bound = bounds[subrange]
        guard id.compare(bound.span.bytes) >= 0 else { break }
        subrange += 1
      }
    }
    let hash = hash()
    fingerprints[subrange].add(hash)
    digest.addMatch(id, hash: hash, number: number)
  }
}

extension RawSpan {
  /// A copy of the bytes.
  var copied: [UInt8] { unsafe withUnsafeBytes { unsafe Array($0) } }
}
