import CRDTCore
import Platform
import Synchronization

/// A cache of documents' numbers by their keys; it spares most reads by id the search in the table `ids`.
///
/// It is a hint. All snapshots share it, also those of a transaction that is rolled back later, and new
/// entries replace old ones. So a cached number counts only if its row exists and names the requested
/// document. In one snapshot a document has one number, so a reader that finds the row need not look in
/// `ids`.
// SAFETY: the memory is used atomically. The creator of a cache frees it after the last use; like a handle of
// the engine, it is not reference counted, because counting would cost as much as a look-up.
@safe struct NumberCache: @unchecked Sendable {
  /// A cache that remembers nothing.
  static let none = NumberCache()

  /// The most entries by default: 2 MiB, of which a store uses about as much as its documents need.
  static let standardCapacity = 1 << 18

  /// The number of entries in use, the number of misses, and then, one bucket after the start, the entries.
  ///
  /// Each entry is 16 bits of a key's hash and the 48 bits of its number; zero is free. A bucket has as many
  /// entries as fit in a line of the processor's cache, and a key may be anywhere in its bucket.
  private let words: UnsafeMutablePointer<Atomic<UInt64>>?
  /// The greatest number of entries, a power of two.
  private let capacity: Int
  /// A random seed, so that nobody can choose ids that displace those of others.
  private let seed: UInt64

  private static let bucket = 8
  private static let numberBits: UInt64 = 48
  private static let firstEntries = 512

  private init() {
    unsafe words = nil
    (capacity, seed) = (0, 0)
  }

  /// Makes an empty cache.
  ///
  /// - Parameters:
  ///   - capacity: The most entries, rounded down to a power of two. There is no cache if that is less than a
  ///     bucket, or if the system has no memory for it.
  ///   - seed: A random number that nobody else knows.
  init(capacity: Int, seed: UInt64) {
    let capacity = capacity < Self.bucket ? 0 : 1 << (Int.bitWidth - 1 - capacity.leadingZeroBitCount)
    unsafe words = Self.map(Self.byteCount(capacity))
    self.capacity = unsafe words == nil ? 0 : capacity
    self.seed = seed
    if let words = unsafe words {
      unsafe words[0].store(UInt64(min(capacity, Self.firstEntries)), ordering: .relaxed)
    }
  }

  /// Frees the memory; the cache and its copies must not be used afterwards.
  func free() {
    // SAFETY: this is the memory that `map` asked for.
    if let words = unsafe words { unsafe munmap(words, Self.byteCount(capacity)) }
  }

  private static func byteCount(_ capacity: Int) -> Int {
    capacity == 0 ? 0 : (capacity + bucket) * MemoryLayout<UInt64>.stride
  }

  /// Asks the system for zeros, which take up memory only once they are written to.
  private static func map(_ byteCount: Int) -> UnsafeMutablePointer<Atomic<UInt64>>? {
    guard byteCount > 0 else { return nil }
    // SAFETY: a new anonymous mapping overlaps no other memory; zeros are valid atomic zeros.
    let room = unsafe mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
    guard let room = unsafe room, unsafe room != MAP_FAILED else { return nil }
    return unsafe room.bindMemory(
      to: Atomic<UInt64>.self, capacity: byteCount / MemoryLayout<UInt64>.stride)
  }

  /// Counts a cache miss, and returns whether to remember the other numbers on the same page, too.
  ///
  /// That costs as much as about eight look-ups. So it begins once there were so many misses for each page
  /// that it would have been cheaper from the start. A process that reads little pays little.
  ///
  /// - Parameter documents: The number of documents in the store.
  /// - Returns: `false` also when the cache has no room for all numbers.
  func noteMiss(of documents: Int) -> Bool {
    guard let words = unsafe words, documents <= capacity / 2 else { return false }
    // If two threads count at once, one count may be lost, which does no harm.
    let misses = unsafe words[1].load(ordering: .relaxed) &+ 1
    unsafe words[1].store(misses, ordering: .relaxed)
    return misses > documents / 8
  }

  /// The hash by which the number of the document with the key `path` is found.
  @inline(__always)
  func hash(of path: RawSpan) -> UInt64 {
    hash(of: DocumentPath.id(of: path), in: DocumentPath.collection(of: path) ?? 0)
  }

  /// The same for an id's bytes and the number of its collection.
  @inline(__always)
  func hash(of id: RawSpan, in collection: UInt32) -> UInt64 {
    unsafe words == nil ? 0 : HashLanes(id, seed: seed ^ UInt64(collection)).first
  }

  /// The number last remembered under a key with this hash; it may be another document's, or obsolete.
  @inline(__always)
  func number(under hash: UInt64) -> DocumentNumber? {
    guard let words = unsafe words else { return nil }
    let first = unsafe Self.place(of: hash, words)
    for index in first..<first &+ Self.bucket {
      let entry = unsafe words[index].load(ordering: .relaxed)
      if Self.isEntry(entry, of: hash) { return DocumentNumber(entry & ((1 << Self.numberBits) - 1)) }
    }
    return nil
  }

  /// The positions of documents by ascending number; documents without a remembered number come first.
  ///
  /// - Complexity: O(n log n).
  func order(of ids: [DocumentID], in collection: UInt32) -> [Int] {
    let positionBits = 64 - Self.numberBits
    guard ids.count <= 1 << positionBits else { return Array(ids.indices) }
    var places: [UInt64] = []
    places.reserveCapacity(ids.count)
    for (position, id) in ids.enumerated() {
      let number = number(under: hash(of: id.bytes.rawBytes, in: collection)) ?? .none
      places.append(number.rawValue << positionBits | UInt64(position))
    }
    places.sort()
    return places.map { Int($0 & (1 << positionBits - 1)) }
  }

  /// Remembers a key's number.
  func note(_ number: DocumentNumber, under hash: UInt64) {
    // Numbers beyond 48 bits are not cached.
    guard let words = unsafe words, number != .none, number.rawValue >> Self.numberBits == 0 else { return }
    unsafe grow(for: number, words)
    let first = unsafe Self.place(of: hash, words)
    let new = (hash >> Self.numberBits) << Self.numberBits | number.rawValue
    // No entry is free. Which one is replaced must not depend on the hash alone, or two keys would displace
    // each other.
    var chosen = first + Int(truncatingIfNeeded: number.rawValue) & (Self.bucket - 1)
    for index in first..<first &+ Self.bucket {
      let entry = unsafe words[index].load(ordering: .relaxed)
      // Do not write an unchanged entry: other threads may be reading this cache line.
      if entry == new { return }
      if entry == 0 || Self.isEntry(entry, of: hash) {
        chosen = index
        break
      }
    }
    unsafe words[chosen].store(new, ordering: .relaxed)
  }

  /// Uses more entries when there are more documents; entries whose bucket changes are forgotten.
  @inline(__always)
  private func grow(for number: DocumentNumber, _ words: UnsafeMutablePointer<Atomic<UInt64>>) {
    var count = unsafe words[0].load(ordering: .relaxed)
    guard number.rawValue > count / 2, count < UInt64(capacity) else { return }
    while number.rawValue > count / 2, count < UInt64(capacity) { count *= 2 }
    // If two threads are here at once, the next number that is remembered corrects the count.
    unsafe words[0].store(count, ordering: .relaxed)
  }

  @inline(__always)
  private static func place(of hash: UInt64, _ words: UnsafeMutablePointer<Atomic<UInt64>>) -> Int {
    let last = unsafe words[0].load(ordering: .relaxed) &- UInt64(bucket)
    return bucket &+ Int(truncatingIfNeeded: hash & last)
  }

  @inline(__always)
  private static func isEntry(_ entry: UInt64, of hash: UInt64) -> Bool {
    (entry ^ hash) >> numberBits == 0 && entry != 0
  }
}
