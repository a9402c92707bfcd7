import CRDTCore
import DocStore

/// What a walk saw of a range: ids, and hashes of states, from which it is compared, cut and listed without another walk.
///
/// It holds all that was seen while that is little, then what matches, then matches at even distances, which will do
/// to cut a range. It is filled in any order, and asked when the walk is over.
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
  /// The last commit in what was seen first; `nil` before anything was.
  var sequence: UInt64?
  /// What matches of all that was seen.
  private(set) var whole = Fingerprint()
  /// Documents that were seen and do not match.
  private(set) var others: UInt64 = 0
  /// Whether it holds all that was seen.
  private(set) var isComplete = true
  /// The ids of all entries, in the order in which they came.
  private var ids: [UInt8] = []
  private var entries: [Entry] = []
  /// How many matches lie between two that are held: a power of two.
  private var distance: UInt64 = 1
  /// The fingerprint of what matches before each entry, and of all, once sorted.
  private var sums: [Fingerprint] = []

  init(_ range: KeyRange) { self.range = range }

  /// How many documents it holds.
  var heldCount: Int { entries.count }

  // MARK: - Filling it

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

  /// Lets go of what does not match, or else of each second match.
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

  /// Sorts what it holds, when that is first asked for: whoever holds the same never does.
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

  // MARK: - Asking it

  /// Whether it knows all of a range.
  func covers(_ range: KeyRange) -> Bool { isComplete && self.range.contains(range) }

  /// What matches in a range that it covers.
  func fingerprint(of range: KeyRange) -> Fingerprint {
    if range == self.range { return whole }
    let places = places(in: range)
    return sums[places.upperBound].subtracting(sums[places.lowerBound])
  }

  /// What matches in the parts of a range that it covers.
  func fingerprints(of range: KeyRange, cutAt bounds: [[UInt8]]) -> [Fingerprint] {
    range.parts(cutAt: bounds).map { fingerprint(of: $0) }
  }

  /// What does not match in a range that it covers.
  func others(in range: KeyRange) -> UInt64 {
    UInt64(places(in: range).count) - fingerprint(of: range).count
  }

  /// What matches in a range that it covers, or in all of its own when those are few.
  func matches(in range: KeyRange) -> [DocumentHash] {
    entries[places(in: range)].filter(\.isMatch).map { entry in
      DocumentHash(id: DocumentID(trusted: Array(bytes(entry))), hash: entry.hash)
    }
  }

  /// The number that a document had, if it is held.
  func number(of id: DocumentID) -> DocumentNumber? {
    sort()
    let place = firstPlace(notBelow: id.bytes)
    guard place < entries.count, bytes(entries[place]).elementsEqual(id.bytes) else { return nil }
    return entries[place].number
  }

  /// Upper bounds of all parts but the last, where a range is cut into parts of about equally many matches, of at least
  /// so many as are held.
  func bounds(in range: KeyRange, parts most: Int, least: Int) -> [[UInt8]] {
    let matches = places(in: range).filter { entries[$0].isMatch }
    let parts = min(most, matches.count / least)
    guard parts > 1 else { return [] }
    return (1..<parts).map { part in
      let place = part * matches.count / parts
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

  /// The shortest bytes above `low` that are not above `high`.
  static func separator(_ low: ArraySlice<UInt8>, _ high: ArraySlice<UInt8>) -> [UInt8] {
    let common = zip(low, high).prefix { $0 == $1 }.count
    return Array(high.prefix(common + 1))
  }
}

/// The digests that one half of a session keeps while it compares.
struct RangeDigests {
  private var kept: [RangeDigest] = []

  /// How many documents they hold.
  var heldCount: Int { kept.reduce(0) { $0 + $1.heldCount } }

  /// Keeps a digest of what is likely to be asked about, in place of what was kept of the same range.
  mutating func keep(_ digest: RangeDigest) {
    kept.removeAll { digest.range.contains($0.range) }
    guard digest.isComplete || digest.range.isWhole,
      heldCount + digest.heldCount <= SyncLimits.digestDocuments
    else { return }
    kept.append(digest)
  }

  /// Lets go of the digests of collections that have changed.
  mutating func forget(where isChanged: (String) -> Bool) {
    kept.removeAll { isChanged($0.range.collection) }
  }

  /// The digest of a range.
  func digest(of range: KeyRange) -> RangeDigest? { kept.first { $0.range == range } }

  /// A digest that knows all of a part of what was walked over.
  func covering(_ range: KeyRange) -> RangeDigest? { kept.first { $0.covers(range) } }
}
