import Platform

/// Bytes of a key in the engine's map.
// SAFETY: the creator ensures that the bytes stay in place while they are used.
@safe struct KeyBytes {
  let start: UnsafeRawPointer
  let count: Int

  var copied: [UInt8] { unsafe Array(UnsafeRawBufferPointer(start: start, count: count)) }

  /// The first eight bytes as a number that orders as they do; a shorter key counts as followed by zeros.
  var head: UInt64 {
    @inline(__always)
    get {
      if count >= 8 { return UInt64(bigEndian: unsafe start.loadUnaligned(as: UInt64.self)) }
      // The loads of a shorter key overlap: the last one is shifted so that its bytes coincide.
      let behind = UInt64(truncatingIfNeeded: 64 &- 8 &* count)
      if count >= 4 {
        let first = UInt32(bigEndian: unsafe start.loadUnaligned(as: UInt32.self))
        let last = UInt32(bigEndian: unsafe (start + (count &- 4)).loadUnaligned(as: UInt32.self))
        return UInt64(first) &<< 32 | UInt64(last) &<< behind
      }
      if count >= 2 {
        let first = UInt16(bigEndian: unsafe start.loadUnaligned(as: UInt16.self))
        let last = UInt16(bigEndian: unsafe (start + (count &- 2)).loadUnaligned(as: UInt16.self))
        return UInt64(first) &<< 48 | UInt64(last) &<< behind
      }
      return count == 1 ? UInt64(unsafe start.load(as: UInt8.self)) &<< 56 : 0
    }
  }

  /// Compares two keys whose first eight bytes are equal, where both have as many.
  @inline(__always)
  static func orderBehindHead(_ a: KeyBytes, _ b: KeyBytes) -> Int {
    let common = min(a.count, b.count) &- 8
    guard common > 0 else { return a.count &- b.count }
    let order = unsafe Int(memcmp(a.start + 8, b.start + 8, common))
    return order != 0 ? order : a.count &- b.count
  }

  /// Compares two keys as the engine does.
  @inline(__always)
  static func order(_ a: KeyBytes, _ b: KeyBytes) -> Int {
    // Most keys differ in their first bytes.
    if a.count >= 8, b.count >= 8 {
      let left = UInt64(bigEndian: unsafe a.start.loadUnaligned(as: UInt64.self))
      let right = UInt64(bigEndian: unsafe b.start.loadUnaligned(as: UInt64.self))
      if left != right { return left < right ? -1 : 1 }
    }
    let order = unsafe Int(memcmp(a.start, b.start, min(a.count, b.count)))
    return order != 0 ? order : a.count - b.count
  }
}

/// A page of a tree in the engine's map.
///
/// The contents of its entries are reliable once ``damage(_:of:isLeaf:_:_:)`` has found nothing.
// SAFETY: the creator ensures that the page is in the map, and that the snapshot that reads it is open.
@safe struct MappedPage {
  let start: UnsafeRawPointer

  static let headerBytes = PageFile.headerBytes
  static let nodeBytes = 8
  private static let maximumKeyBytes = 511

  /// The keys that a page may hold, according to the pages above it.
  struct Bounds {
    /// All keys are at or above this one.
    var from: KeyBytes?
    /// All keys are below this one.
    var to: KeyBytes?
  }

  init(_ start: UnsafeRawPointer) { unsafe self.start = start }

  @inline(__always)
  func load16(_ offset: Int) -> Int {
    Int(UInt16(littleEndian: unsafe start.load(fromByteOffset: offset, as: UInt16.self)))
  }

  @inline(__always)
  func load64(_ offset: Int) -> UInt64 {
    UInt64(littleEndian: unsafe start.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  /// A copy of the page's first bytes.
  func copied(_ byteCount: Int) -> [UInt8] {
    unsafe Array(UnsafeRawBufferPointer(start: start, count: byteCount))
  }

  var number: UInt64 { load64(0) }
  var flags: Int { load16(10) }
  var lower: Int { load16(12) }
  var upper: Int { load16(14) }
  /// On the first page of a long value: the number of its pages.
  var longPages: Int { load16(12) | load16(14) << 16 }
  var isLeaf: Bool { flags == TreePage.Flag.leaf }

  /// The number of entries of a verified page.
  @inline(__always)
  var count: Int { (lower &- Self.headerBytes) >> 1 }

  /// The offset of an entry.
  @inline(__always)
  func offset(_ index: Int) -> Int { load16(Self.headerBytes &+ 2 &* index) }

  @inline(__always)
  func key(at offset: Int) -> KeyBytes {
    unsafe KeyBytes(start: start + (offset &+ Self.nodeBytes), count: load16(offset &+ 6))
  }

  @inline(__always)
  func key(_ index: Int) -> KeyBytes { key(at: offset(index)) }

  /// The page below an entry of a branch.
  @inline(__always)
  func child(_ index: Int) -> Int {
    let offset = offset(index)
    return load16(offset) | load16(offset &+ 2) << 16 | load16(offset &+ 4) << 32
  }

  /// A leaf entry's value: its length, the offset of the value or of its page number, and its flags.
  @inline(__always)
  func value(_ index: Int) -> (byteCount: Int, offset: Int, flags: Int) {
    let offset = offset(index)
    return (
      load16(offset) | load16(offset &+ 2) << 16, offset &+ Self.nodeBytes &+ load16(offset &+ 6),
      load16(offset &+ 4)
    )
  }

  /// How much of a page of this size its entries take, in percent.
  func fill(of pageBytes: Int) -> Int { (lower - Self.headerBytes + pageBytes - upper) * 100 / pageBytes }

  /// The first entry whose key is not below `key`, and whether it is equal.
  ///
  /// A branch's first key counts as below all others.
  @inline(__always)
  func search(_ key: KeyBytes, isLeaf: Bool) -> (index: Int, isSame: Bool) {
    let head = key.head
    var low = isLeaf ? 0 : 1
    var high = count
    while low < high {
      let middle = (low &+ high) >> 1
      let order = order(middle, key, head)
      if order == 0 { return (middle, true) }
      if order < 0 { low = middle &+ 1 } else { high = middle }
    }
    return (low, false)
  }

  /// Compares the key of an entry with a key whose ``KeyBytes/head`` is `head`.
  @inline(__always)
  func order(_ index: Int, _ key: KeyBytes, _ head: UInt64) -> Int {
    let found = self.key(index)
    let foundHead: UInt64
    if found.count >= 8 {
      foundHead = UInt64(bigEndian: unsafe found.start.loadUnaligned(as: UInt64.self))
    } else if found.count > 0 {
      // SAFETY: in front of the key is the entry's own head, which has eight bytes.
      let last = UInt64(bigEndian: unsafe (found.start + (found.count &- 8)).loadUnaligned(as: UInt64.self))
      foundHead = last &<< UInt64(truncatingIfNeeded: 64 &- 8 &* found.count)
    } else {
      foundHead = 0
    }
    if foundHead != head { return foundHead < head ? -1 : 1 }
    return KeyBytes.orderBehindHead(found, key)
  }

  /// The entry of a branch whose subtree contains `key`.
  @inline(__always)
  func branch(to key: KeyBytes) -> Int {
    let (index, isSame) = search(key, isLeaf: false)
    return isSame ? index : index &- 1
  }

  // MARK: - Checks

  /// Describes what is wrong with the page itself: its head, its entries, the order of their keys.
  ///
  /// - Parameters:
  ///   - number: The expected page number.
  ///   - pageBytes: The page's size.
  ///   - isLeaf: Whether a leaf is expected.
  ///   - use: What its tree is for.
  ///   - hasLongValues: Is set to `true` if a value is on pages of its own.
  /// - Returns: `nil` if nothing is wrong.
  func damage(
    _ number: Int, of pageBytes: Int, isLeaf: Bool, _ use: TreePage.Use, _ hasLongValues: inout Bool
  ) -> String? {
    let (lower, upper) = (lower, upper)
    guard self.number == UInt64(number),
      flags == (isLeaf ? TreePage.Flag.leaf : TreePage.Flag.branch),
      lower > Self.headerBytes, lower % 2 == 0, lower <= upper, upper <= pageBytes
    else { return "its head is wrong" }
    var used = 0
    var previous = unsafe KeyBytes(start: start, count: 0)
    // The first key of a branch is unused.
    var hasPrevious = false
    for index in 0..<count {
      let start = offset(index)
      guard start >= upper, start &+ Self.nodeBytes <= pageBytes, start & 1 == 0 else {
        return "an entry lies outside"
      }
      let key = key(at: start)
      var end = start &+ Self.nodeBytes &+ key.count
      if isLeaf {
        let flags = load16(start &+ 4)
        let valueBytes = load16(start) | load16(start &+ 2) << 16
        let isLong = flags & TreePage.Flag.longValue != 0
        end &+= isLong ? 8 : valueBytes
        if isLong { hasLongValues = true }
        guard isAllowed(flags, valueBytes, use) else {
          return "an entry is of a kind that no store has"
        }
      }
      guard end <= pageBytes else { return "an entry is too long" }
      used &+= (end &- start &+ 1) & ~1
      if !isLeaf, index == 0 { continue }
      guard key.count > 0, key.count <= Self.maximumKeyBytes,
        !hasPrevious || order(previous, key, use) < 0
      else { return "its keys are not in order" }
      previous = key
      hasPrevious = true
    }
    return used == pageBytes - upper ? nil : "entries overlap, or leave gaps"
  }

  /// Whether the keys of a page without ``damage(_:of:isLeaf:_:_:)`` are in the bounds that the pages above
  /// give.
  func isWithin(_ bounds: Bounds, isLeaf: Bool, _ use: TreePage.Use) -> Bool {
    let first = isLeaf ? 0 : 1
    guard first < count else { return true }
    if let from = bounds.from {
      // Only a leaf contains the key that bounds it from below.
      let order = order(from, key(first), use)
      guard isLeaf ? order <= 0 : order < 0 else { return false }
    }
    guard let to = bounds.to else { return true }
    return order(key(count - 1), to, use) < 0
  }

  private func isAllowed(_ flags: Int, _ valueBytes: Int, _ use: TreePage.Use) -> Bool {
    switch use {
    case .freeList, .entries: flags & ~TreePage.Flag.longValue == 0
    case .tables: flags == TreePage.Flag.table && valueBytes == PageFile.Tree.byteCount
    }
  }

  @inline(__always)
  private func order(_ a: KeyBytes, _ b: KeyBytes, _ use: TreePage.Use) -> Int {
    if use == .freeList, a.count == 8, b.count == 8 {
      let left = unsafe UInt64(littleEndian: a.start.loadUnaligned(as: UInt64.self))
      let right = unsafe UInt64(littleEndian: b.start.loadUnaligned(as: UInt64.self))
      return left == right ? 0 : left < right ? -1 : 1
    }
    return KeyBytes.order(a, b)
  }
}
