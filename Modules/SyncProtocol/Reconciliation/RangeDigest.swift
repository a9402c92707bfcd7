import CRDTCore
import DocStore

/// The ids and hashes that one scan of a range saw.
///
/// They answer later questions about the range without another scan.
///
/// While they fit, the digest holds all documents of the range. Beyond that it holds only matches, and then
/// only every n-th match, which suffices to divide a range. Documents are added in any order and queried
/// after the scan.
final class RangeDigest {
  private struct Entry {
    var start: UInt32
    let byteCount: UInt16
    let isMatch: Bool
    let hash: UInt64
    let number: DocumentNumber

    var place: Range<Int> { Int(start)..<Int(start) + Int(byteCount) }
  }

  let range: KeyRange
  /// The latest commit in the scan's first snapshot; `nil` before the first step.
  var sequence: UInt64?
  /// The fingerprint of all matches.
  private(set) var whole = Fingerprint()
  /// The number of documents seen that do not match.
  private(set) var others: UInt64 = 0
  /// Whether the digest holds all documents that the scan saw.
  private(set) var isComplete = true
  /// The ids of all entries, in the order of insertion.
  private var ids: [UInt8] = []
  private var entries: [Entry] = []
  /// One of this many matches is held; a power of two.
  private var distance: UInt64 = 1
  /// After sorting: the fingerprint of the matches before each entry, and of all matches.
  private var sums: [Fingerprint] = []

  init(_ range: KeyRange) { self.range = range }

  /// The number of documents that the digest holds.
  var heldCount: Int { entries.count }

  // MARK: - Adding documents

  func addMatch(_ id: RawSpan, hash: UInt64, number: DocumentNumber) {
    defer { whole.add(hash) }
    guard whole.count & (distance &- 1) == 0 else { return }
    append(id, isMatch: true, hash: hash, number)
  }

  func addOther(_ id: RawSpan, number: DocumentNumber) {
    others &+= 1
    if isComplete { append(id, isMatch: false, hash: 0, number) }
  }

  private func append(_ id: RawSpan, isMatch: Bool, hash: UInt64, _ number: DocumentNumber) {
    entries.append(
      Entry(
        start: UInt32(ids.count), byteCount: UInt16(id.byteCount), isMatch: isMatch, hash: hash,
        number: number))
    unsafe id.withUnsafeBytes { unsafe ids.append(contentsOf: $0) }
    while entries.count > SyncLimits.digestDocuments
      || ids.count > SyncLimits.digestIDBytes && entries.count > 1
    { thin() }
  }

  /// Drops the documents that do not match; if there are none, drops every second match.
  private func thin() {
    let kept: [Entry]
    if isComplete, others > 0 {
      kept = entries.filter(\.isMatch)
    } else {
      kept = stride(from: 0, to: entries.count, by: 2).map { entries[$0] }
      distance *= 2
    }
    isComplete = false
    var rest: [UInt8] = []
    entries = kept.map { entry in
      var entry = entry
      let start = UInt32(rest.count)
      rest += bytes(entry)
      entry.start = start
      return entry
    }
    ids = rest
  }

  /// Sorts the entries on the first query; a digest that proves equal is never sorted.
  private func sort() {
    guard sums.isEmpty else { return }
    let ids = ids
    entries.sort { a, b in
      let ids = ids.span.bytes
      return ids.extracting(a.place).compare(ids.extracting(b.place)) < 0
    }
    var sum = Fingerprint()
    sums = [sum]
    sums.reserveCapacity(entries.count + 1)
    for entry in entries {
      if entry.isMatch { sum.add(entry.hash) }
      sums.append(sum)
    }
  }

  // MARK: - Queries

  /// Returns whether the digest holds all documents of a range.
  func covers(_ range: KeyRange) -> Bool { isComplete && self.range.contains(range) }

  /// Returns the fingerprint of the matches in a covered range.
  func fingerprint(of range: KeyRange) -> Fingerprint {
    if range == self.range { return whole }
    let places = places(in: range)
    return sums[places.upperBound].subtracting(sums[places.lowerBound])
  }

  /// Returns the fingerprints of the matches in the subranges of a covered range.
  func fingerprints(of range: KeyRange, cutAt bounds: [[UInt8]]) -> [Fingerprint] {
    range.subranges(cutAt: bounds).map { fingerprint(of: $0) }
  }

  /// Returns how many documents of a covered range do not match.
  func others(in range: KeyRange) -> UInt64 {
    UInt64(places(in: range).count) - fingerprint(of: range).count
  }

  /// Returns the matches in a covered range, or in the digest's whole range if it still holds all of them.
  func matches(in range: KeyRange) -> [DocumentHash] {
    entries[places(in: range)].filter(\.isMatch).map { entry in
      DocumentHash(id: DocumentID(trusted: Array(bytes(entry))), hash: entry.hash)
    }
  }

  /// Returns the number that a document had during the scan, if the digest holds it.
  func number(of id: DocumentID) -> DocumentNumber? {
    sort()
    let place = firstPlace(notBelow: id.bytes)
    guard place < entries.count, bytes(entries[place]).elementsEqual(id.bytes) else { return nil }
    return entries[place].number
  }

  /// Returns bounds that divide a range into subranges with about the same number of matches.
  ///
  /// - Parameters:
  ///   - range: The range to divide.
  ///   - most: The maximum number of subranges.
  ///   - least: The minimum number of held matches in each subrange.
  /// - Returns: The upper bounds of all subranges but the last.
  func bounds(in range: KeyRange, subranges most: Int, least: Int) -> [[UInt8]] {
    let matches = places(in: range).filter { entries[$0].isMatch }
    let count = min(most, matches.count / least)
    guard count > 1 else { return [] }
    return (1..<count).map { index in
      let place = index * matches.count / count
      return Self.separator(bytes(entries[matches[place - 1]]), bytes(entries[matches[place]]))
    }
  }

  private func bytes(_ entry: Entry) -> ArraySlice<UInt8> { ids[entry.place] }

  private func places(in range: KeyRange) -> Range<Int> {
    sort()
    let end = range.to.isEmpty ? entries.count : firstPlace(notBelow: range.to)
    return firstPlace(notBelow: range.from)..<end
  }

  private func firstPlace(notBelow bound: [UInt8]) -> Int {
    let all = ids
    let ids = all.span.bytes
    let bound = bound.span.bytes
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if ids.extracting(entries[middle].place).compare(bound) < 0 { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Returns the shortest bytes that are greater than `low` and not greater than `high`.
  static func separator(_ low: ArraySlice<UInt8>, _ high: ArraySlice<UInt8>) -> [UInt8] {
    let common = zip(low, high).prefix { $0 == $1 }.count
    return Array(high.prefix(common + 1))
  }
}

/// The digests that one half of a session keeps during a reconciliation.
struct RangeDigests {
  private var kept: [RangeDigest] = []

  /// The number of documents that the digests hold.
  var heldCount: Int { kept.reduce(0) { $0 + $1.heldCount } }

  /// Keeps a digest and drops those of ranges within its range.
  ///
  /// A digest that is neither complete nor of a whole collection is not kept, nor is one beyond the limit.
  mutating func keep(_ digest: RangeDigest) {
    kept.removeAll { digest.range.contains($0.range) }
    guard digest.isComplete || digest.range.isWhole,
      heldCount + digest.heldCount <= SyncLimits.digestDocuments
    else { return }
    kept.append(digest)
  }

  /// Drops the digests of collections that have changed.
  mutating func forget(where isChanged: (String) -> Bool) {
    kept.removeAll { isChanged($0.range.collection) }
  }

  /// Returns the digest of exactly this range.
  func digest(of range: KeyRange) -> RangeDigest? { kept.first { $0.range == range } }

  /// Returns a digest that holds all documents of a range.
  func covering(_ range: KeyRange) -> RangeDigest? { kept.first { $0.covers(range) } }
}
