import CRDTCore
import Platform
import Synchronization

/// Which number stands under which document's key, as far as it is remembered: it spares most reads by id the
/// search in the table `ids`.
///
/// It is a hint. All snapshots share it, also those of a transaction that is rolled back later, and entries give
/// way to others. So a number counts only where its row is there and names the document that was asked for: in one
/// snapshot a document has one number, and whoever finds it need not ask where it is listed.
// SAFETY: the memory is used atomically. Whoever makes a cache gives it back after the last use; like a handle
// of the engine's it is not counted, for that would cost as much as a look into it.
@safe struct NumberCache: @unchecked Sendable {
  /// Remembers nothing.
  static let none = NumberCache()

  /// The most entries by default: 2 MiB, of which a store takes about as much as its documents need.
  static let standardCapacity = 1 << 18

  /// The number of entries in use, the misses so far, then, a bucket's length from the start, the entries.
  ///
  /// Each is 16 bits of a key's hash, then the 48 of its number; zero is free. As many as a line of the
  /// processor's cache holds stand together, and a key has its place anywhere among them.
  private let words: UnsafeMutablePointer<Atomic<UInt64>>?
  /// A power of two.
  private let capacity: Int
  /// Nobody can choose ids that displace those of others.
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
  ///   - capacity: The most entries, rounded down to a power of two; for fewer than a bucket's
  ///     there is no cache, nor when the system has no memory for it.
  ///   - seed: A random number that nobody knows.
  init(capacity: Int, seed: UInt64) {
    let capacity = capacity < Self.bucket ? 0 : 1 << (Int.bitWidth - 1 - capacity.leadingZeroBitCount)
    unsafe words = Self.map(Self.byteCount(capacity))
    self.capacity = unsafe words == nil ? 0 : capacity
    self.seed = seed
    if let words = unsafe words {
      unsafe words[0].store(UInt64(min(capacity, Self.firstEntries)), ordering: .relaxed)
    }
  }

  /// Gives the memory back; the cache and its copies must not be used any more.
  func free() {
    // SAFETY: this is what `map` asked for.
    if let words = unsafe words { unsafe munmap(words, Self.byteCount(capacity)) }
  }

  private static func byteCount(_ capacity: Int) -> Int {
    capacity == 0 ? 0 : (capacity + bucket) * MemoryLayout<UInt64>.stride
  }

  /// Asks the system for zeros, which take memory only once they are written to.
  private static func map(_ byteCount: Int) -> UnsafeMutablePointer<Atomic<UInt64>>? {
    guard byteCount > 0 else { return nil }
    // SAFETY: an anonymous mapping stands for itself; zeros are atomic zeros.
    let room = unsafe mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
    guard let room = unsafe room, unsafe room != MAP_FAILED else { return nil }
    return unsafe room.bindMemory(
      to: Atomic<UInt64>.self, capacity: byteCount / MemoryLayout<UInt64>.stride)
  }

  /// Counts a number that was not remembered, and tells whether to take in those that stand beside it.
  ///
  /// That costs as much as looking up some eight numbers, so it begins when so many were looked up for each page
  /// that it would have been the better choice from the start: whoever asks for little pays for little.
  ///
  /// - Parameter documents: How many the store has.
  /// - Returns: `false` as well where not all would find their place.
  func noteMiss(of documents: Int) -> Bool {
    guard let words = unsafe words, documents <= capacity / 2 else { return false }
    // One that is lost where two threads count at once does not matter.
    let misses = unsafe words[1].load(ordering: .relaxed) &+ 1
    unsafe words[1].store(misses, ordering: .relaxed)
    return misses > documents / 8
  }

  /// What the number of the document with the key `path` is found by.
  @inline(__always)
  func hash(of path: RawSpan) -> UInt64 {
    hash(of: DocumentPath.id(of: path), in: DocumentPath.collection(of: path) ?? 0)
  }

  /// The same by an id's bytes and the number of its collection.
  @inline(__always)
  func hash(of id: RawSpan, in collection: UInt32) -> UInt64 {
    unsafe words == nil ? 0 : HashLanes(id, seed: seed ^ UInt64(collection)).first
  }

  /// The number that was last noted under a key with this hash; it may be another's, or not be any more.
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

  /// The positions of documents by ascending number, those that are not remembered first.
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
    // Numbers beyond 48 bits would be found anew each time.
    guard let words = unsafe words, number != .none, number.rawValue >> Self.numberBits == 0 else { return }
    unsafe grow(for: number, words)
    let first = unsafe Self.place(of: hash, words)
    let new = (hash >> Self.numberBits) << Self.numberBits | number.rawValue
    // With nothing free: which one goes must not depend on the hash alone, or two would displace each other.
    var chosen = first + Int(truncatingIfNeeded: number.rawValue) & (Self.bucket - 1)
    for index in first..<first &+ Self.bucket {
      let entry = unsafe words[index].load(ordering: .relaxed)
      // Others may be reading this line.
      if entry == new { return }
      if entry == 0 || Self.isEntry(entry, of: hash) {
        chosen = index
        break
      }
    }
    unsafe words[chosen].store(new, ordering: .relaxed)
  }

  /// Takes more entries into use where documents have become more; those that move with that are forgotten.
  @inline(__always)
  private func grow(for number: DocumentNumber, _ words: UnsafeMutablePointer<Atomic<UInt64>>) {
    var count = unsafe words[0].load(ordering: .relaxed)
    guard number.rawValue > count / 2, count < UInt64(capacity) else { return }
    while number.rawValue > count / 2, count < UInt64(capacity) { count *= 2 }
    // Should two threads be here at once, the next number that is noted makes up for it.
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
