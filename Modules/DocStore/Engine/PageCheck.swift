#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Looks at the engine's pages before the engine does.
///
/// The engine trusts what its pages say about themselves: a flipped bit in a page's head makes it read past the
/// page, or end the process. This walk trusts nothing and stops at the first page that does not fit. It sees what
/// lies around keys and values; these have checks of their own.
///
/// Source: the structures of `mdb.c` in LMDB 0.9, on 64-bit little-endian systems.
@safe struct PageCheck {
  /// Pages that are looked at before the rest is left to ``Store`` checks of the whole: about 16 MiB of them.
  static let budgetAtOpen = 4_096

  static let headerBytes = 16
  static let maximumKeyBytes = 511

  private let pages: RawSpanSource
  private let pageCount: Int
  let pageBytes: Int
  private var seen: [Bool]
  private var budget: Int
  /// The tables that the list of tables names.
  private var tables: [Tree] = []
  /// Whether everything was looked at, so that totals can be compared.
  private(set) var isComplete = true

  /// The mapped file.
  @safe private struct RawSpanSource {
    // SAFETY: the map outlives the check, and nothing writes to it meanwhile.
    let start: UnsafeRawPointer
    let byteCount: Int
  }

  /// - Parameters:
  ///   - start: The mapped file.
  ///   - pageCount: Pages that may be in use; the file has no fewer.
  ///   - pageBytes: The size of one.
  ///   - budget: Leaf pages to look at.
  init(_ start: UnsafeRawPointer, pageCount: Int, pageBytes: Int, budget: Int = .max) {
    unsafe pages = RawSpanSource(start: start, byteCount: pageCount * pageBytes)
    self.pageCount = pageCount
    self.pageBytes = pageBytes
    self.budget = budget
    seen = Array(repeating: false, count: pageCount)
  }

  /// Walks all tables.
  ///
  /// - Throws: `corrupt`, naming the page.
  mutating func run() throws(StoreError) {
    guard pageCount >= 2 else { throw Self.damaged(0, "the file is too short") }
    let meta = try newestMeta()
    let free = try tree(meta + Meta.free, page: meta / pageBytes)
    let main = try tree(meta + Meta.main, page: meta / pageBytes)
    try walk(free, as: .freeList)
    try walk(main, as: .tables)
    for table in tables { try walk(table, as: .documents) }
  }

  // MARK: - The two meta pages

  /// Offsets in a meta page.
  private enum Meta {
    static let magic = 16
    static let free = 40
    static let main = 88
    static let transaction = 144
    static let magicNumber: UInt32 = 0xBEEF_C0DE
  }

  /// Commits write the two meta pages in turn, so that they are one transaction apart.
  private func newestMeta() throws(StoreError) -> Int {
    for page in 0..<2 {
      guard number32(page * pageBytes + Meta.magic) == Meta.magicNumber else {
        throw Self.damaged(page, "it is no meta page")
      }
    }
    let first = number(Meta.transaction)
    let second = number(pageBytes + Meta.transaction)
    let newest = max(first, second)
    let page = newest == first ? 0 : 1
    guard first == second || (newest - min(first, second) == 1 && newest % 2 == UInt64(page)) else {
      throw Self.damaged(page, "the two meta pages do not follow each other")
    }
    return page * pageBytes
  }

  // MARK: - Trees

  /// What the engine keeps about a table.
  private struct Tree {
    let flags: Int
    let depth: Int
    let branchPages: Int
    let leafPages: Int
    let overflowPages: Int
    let entries: Int
    let root: Int
  }

  private enum Use { case freeList, tables, documents }

  private static let noPage = -1

  private func tree(_ offset: Int, page: Int) throws(StoreError) -> Tree {
    let tree = Tree(
      flags: number16(offset + 4), depth: number16(offset + 6), branchPages: count(offset + 8),
      leafPages: count(offset + 16), overflowPages: count(offset + 24), entries: count(offset + 32),
      root: Int(truncatingIfNeeded: number(offset + 40)))
    guard (tree.root == Self.noPage) == (tree.entries == 0), (tree.root == Self.noPage) == (tree.depth == 0)
    else { throw Self.damaged(page, "a table is described wrongly") }
    return tree
  }

  /// A subtree to be walked, and the keys it may hold.
  private struct Step {
    let page: Int
    let level: Int
    /// The range of a key on an upper page, which all keys here reach or exceed, or stay below.
    let from: Range<Int>?
    let to: Range<Int>?
  }

  private mutating func walk(_ tree: Tree, as use: Use) throws(StoreError) {
    guard tree.flags & 0xFF == (use == .freeList ? Flag.integerKeys : 0) else {
      throw Self.damaged(0, "a table is of another kind")
    }
    guard tree.root != Self.noPage else { return }
    var (branches, leaves, overflows, entries) = (0, 0, 0, 0)
    var isWhole = true
    var steps = [Step(page: tree.root, level: 1, from: nil, to: nil)]
    while let step = steps.popLast() {
      let isLeaf = step.level == tree.depth
      if isLeaf {
        guard budget > 0 else {
          isWhole = false
          isComplete = false
          continue
        }
        budget -= 1
      }
      try take(step.page)
      let nodes = try nodes(of: step, isLeaf: isLeaf, use)
      if isLeaf {
        leaves += 1
        entries += nodes.count
        for node in nodes { try check(node, on: step.page, use, &overflows) }
      } else {
        branches += 1
        for (index, node) in nodes.enumerated() {
          steps.append(
            Step(
              page: node.child, level: step.level + 1, from: index == 0 ? step.from : node.key,
              to: index + 1 < nodes.count ? nodes[index + 1].key : step.to))
        }
      }
    }
    guard
      !isWhole
        || (branches == tree.branchPages && leaves == tree.leafPages && overflows == tree.overflowPages
          && entries == tree.entries)
    else { throw Self.damaged(tree.root, "the table beneath it has lost or gained pages") }
  }

  /// Marks a page as used; it can be used once.
  private mutating func take(_ page: Int) throws(StoreError) {
    guard page >= 2, page < pageCount, !seen[page] else {
      throw Self.damaged(page, "it is used twice, or does not exist")
    }
    seen[page] = true
  }

  // MARK: - Pages

  /// An entry of a page.
  private struct Node {
    let start: Int
    let key: Range<Int>
    let flags: Int
    /// Of a leaf's entry.
    let valueBytes: Int
    /// Of a branch's entry.
    let child: Int
  }

  private enum Flag {
    static let branch = 1
    static let leaf = 2
    static let overflow = 4
    static let longValue = 1
    static let table = 2
    static let integerKeys = 8
  }

  /// The entries of a page, all of them inside it and in order.
  private func nodes(of step: Step, isLeaf: Bool, _ use: Use) throws(StoreError) -> [Node] {
    let start = step.page * pageBytes
    let lower = number16(start + 12)
    let upper = number16(start + 14)
    guard count(start) == step.page, number16(start + 10) == (isLeaf ? Flag.leaf : Flag.branch),
      lower > Self.headerBytes, lower % 2 == 0, lower <= upper, upper <= pageBytes
    else { throw Self.damaged(step.page, "its head is wrong") }
    var nodes: [Node] = []
    nodes.reserveCapacity((lower - Self.headerBytes) / 2)
    var used = 0
    for place in stride(from: start + Self.headerBytes, to: start + lower, by: 2) {
      let offset = number16(place)
      guard offset >= upper, offset + 8 <= pageBytes, offset % 2 == 0 else {
        throw Self.damaged(step.page, "an entry lies outside")
      }
      let (node, bytes) = node(at: start + offset, isLeaf: isLeaf)
      guard offset + bytes <= pageBytes else { throw Self.damaged(step.page, "an entry is too long") }
      used += (bytes + 1) & ~1
      // The first key of a branch is not used.
      let isFirst = nodes.isEmpty
      if !(isFirst && !isLeaf) {
        let before = isFirst || (nodes.count == 1 && !isLeaf) ? step.from : nodes.last?.key
        let mayEqual = isFirst && isLeaf
        guard node.key.count > 0, node.key.count <= Self.maximumKeyBytes,
          before.map({ compare($0, node.key, use) < (mayEqual ? 1 : 0) }) ?? true,
          step.to.map({ compare(node.key, $0, use) < 0 }) ?? true
        else { throw Self.damaged(step.page, "its keys are not in order") }
      }
      nodes.append(node)
    }
    guard used == pageBytes - upper else { throw Self.damaged(step.page, "entries overlap, or leave gaps") }
    return nodes
  }

  private func node(at start: Int, isLeaf: Bool) -> (Node, byteCount: Int) {
    let (low, high, flags) = (number16(start), number16(start + 2), number16(start + 4))
    let keyBytes = number16(start + 6)
    let key = start + 8..<start + 8 + keyBytes
    guard isLeaf else {
      let child = low | high << 16 | flags << 32
      return (Node(start: start, key: key, flags: 0, valueBytes: 0, child: child), 8 + keyBytes)
    }
    let valueBytes = low | high << 16
    let stored = flags & Flag.longValue != 0 ? 8 : valueBytes
    let node = Node(start: start, key: key, flags: flags, valueBytes: valueBytes, child: 0)
    return (node, 8 + keyBytes + stored)
  }

  /// Looks at what an entry of a leaf refers to.
  private mutating func check(
    _ node: Node, on page: Int, _ use: Use, _ overflows: inout Int
  ) throws(StoreError) {
    let value = node.key.upperBound
    switch (node.flags, use) {
    case (0, .documents), (0, .freeList): break
    case (Flag.table, .tables) where node.valueBytes == 48: tables.append(try tree(value, page: page))
    case (Flag.longValue, .documents), (Flag.longValue, .freeList):
      let first = count(value)
      try take(first)
      let start = first * pageBytes
      let length = Int(number32(start + 12))
      guard count(start) == first, number16(start + 10) == Flag.overflow,
        length == (Self.headerBytes - 1 + node.valueBytes) / pageBytes + 1, first + length <= pageCount
      else { throw Self.damaged(first, "the head of a long value is wrong") }
      for page in first + 1..<first + length { try take(page) }
      overflows += length
    default: throw Self.damaged(page, "an entry is of a kind that no store has")
    }
  }

  // MARK: - Numbers

  /// Orders two keys as the engine does.
  private func compare(_ a: Range<Int>, _ b: Range<Int>, _ use: Use) -> Int {
    if use == .freeList, a.count == 8, b.count == 8 {
      let (a, b) = (number(a.lowerBound), number(b.lowerBound))
      return a == b ? 0 : a < b ? -1 : 1
    }
    // SAFETY: keys lie inside their pages.
    let order = unsafe memcmp(
      pages.start + a.lowerBound, pages.start + b.lowerBound, min(a.count, b.count))
    return order != 0 ? Int(order) : a.count - b.count
  }

  private func load<N: FixedWidthInteger>(_ offset: Int, as type: N.Type) -> N {
    guard offset >= 0, offset + MemoryLayout<N>.size <= pages.byteCount else { return 0 }
    // SAFETY: inside the map, as the line above says; integers have no invalid bits.
    return N(littleEndian: unsafe pages.start.loadUnaligned(fromByteOffset: offset, as: N.self))
  }

  private func number(_ offset: Int) -> UInt64 { load(offset, as: UInt64.self) }
  private func number32(_ offset: Int) -> UInt32 { load(offset, as: UInt32.self) }
  private func number16(_ offset: Int) -> Int { Int(load(offset, as: UInt16.self)) }
  /// A number of pages or entries; one that cannot be is negative, and so out of every range.
  private func count(_ offset: Int) -> Int { Int(exactly: number(offset)) ?? -1 }

  private static func damaged(_ page: Int, _ what: String) -> StoreError {
    StoreError(.corrupt, "Page \(page) of the store's file is damaged: \(what)", operation: "open")
  }
}
