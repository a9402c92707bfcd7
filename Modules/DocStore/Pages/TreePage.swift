import CRDTCore

/// One page of a tree; all entries lie inside the page, in order and without gaps.
struct TreePage {
  /// An entry of the page.
  struct Node {
    let key: Range<Int>
    let flags: Int
    /// The value's length, in a leaf.
    let valueBytes: Int
    /// The lower page, in a branch.
    let child: Int

    /// Whether the value is on overflow pages.
    var isLong: Bool { flags & Flag.longValue != 0 }
    /// Whether the value describes a table.
    var isTable: Bool { flags & Flag.table != 0 }
  }

  /// The purpose of a tree, which determines the order of its keys and the kinds of its values.
  enum Use { case freeList, tables, entries }

  /// The keys that a page may contain, according to the pages above it.
  struct Bounds {
    /// All keys in the page are equal to or above this one.
    var from: [UInt8]?
    /// All keys in the page are below this one.
    var to: [UInt8]?
  }

  enum Flag {
    static let branch = 1
    static let leaf = 2
    static let overflow = 4
    static let longValue = 1
    static let table = 2
    static let integerKeys = 8
  }

  let number: Int
  let bytes: [UInt8]
  let isLeaf: Bool
  private(set) var nodes: [Node] = []

  private static let nodeBytes = 8
  private static let maximumKeyBytes = 511

  /// Checks a page.
  ///
  /// - Parameters:
  ///   - bytes: The page.
  ///   - number: The number that the page should have.
  ///   - isLeaf: Whether it should be a leaf.
  ///   - bounds: The keys that it may contain.
  ///   - use: The purpose of its tree.
  /// - Throws: What is wrong with the page.
  init(
    _ bytes: [UInt8], number: Int, isLeaf: Bool, _ bounds: Bounds, _ use: Use
  ) throws(PageDamage) {
    self.number = number
    self.bytes = bytes
    self.isLeaf = isLeaf
    let lower = bytes.number16(12)
    let upper = bytes.number16(14)
    guard bytes.count(0) == number, bytes.number16(10) == (isLeaf ? Flag.leaf : Flag.branch),
      lower > PageFile.headerBytes, lower % 2 == 0, lower <= upper, upper <= bytes.count
    else { throw damaged("its head is wrong") }
    nodes.reserveCapacity((lower - PageFile.headerBytes) / 2)
    var used = 0
    for place in stride(from: PageFile.headerBytes, to: lower, by: 2) {
      let start = bytes.number16(place)
      guard start >= upper, start + Self.nodeBytes <= bytes.count, start % 2 == 0 else {
        throw damaged("an entry lies outside")
      }
      let (node, byteCount) = node(at: start)
      guard start + byteCount <= bytes.count else { throw damaged("an entry is too long") }
      used += (byteCount + 1) & ~1
      guard isInOrder(node, bounds, use) else { throw damaged("its keys are not in order") }
      if isLeaf, !isAllowed(node, use) { throw damaged("an entry is of a kind that no store has") }
      nodes.append(node)
    }
    guard used == bytes.count - upper else { throw damaged("entries overlap, or leave gaps") }
  }

  func damaged(_ what: String) -> PageDamage { PageDamage(page: number, what: what) }

  private func node(at start: Int) -> (Node, byteCount: Int) {
    let (low, high, flags) = (bytes.number16(start), bytes.number16(start + 2), bytes.number16(start + 4))
    let key = start + Self.nodeBytes..<start + Self.nodeBytes + bytes.number16(start + 6)
    guard isLeaf else {
      return (
        Node(key: key, flags: 0, valueBytes: 0, child: low | high << 16 | flags << 32), key.upperBound - start
      )
    }
    let valueBytes = low | high << 16
    let stored = flags & Flag.longValue != 0 ? 8 : valueBytes
    return (
      Node(key: key, flags: flags, valueBytes: valueBytes, child: 0), key.upperBound - start + stored
    )
  }

  private func isAllowed(_ node: Node, _ use: Use) -> Bool {
    switch use {
    case .freeList, .entries: node.flags & ~Flag.longValue == 0
    case .tables: node.flags == Flag.table && node.valueBytes == PageFile.Tree.byteCount
    }
  }

  /// Whether a node's key is above those before it and within the page's bounds.
  private func isInOrder(_ node: Node, _ bounds: Bounds, _ use: Use) -> Bool {
    // The first key of a branch is not used.
    if nodes.isEmpty, !isLeaf { return true }
    guard node.key.count > 0, node.key.count <= Self.maximumKeyBytes else { return false }
    if let previous = nodes.last, isLeaf || nodes.count > 1 {
      guard order(bytes, previous.key, node.key, use) < 0 else { return false }
    } else if let from = bounds.from {
      // Only a leaf may contain the lower bound itself.
      guard order(from, 0..<from.count, node.key, use) < (isLeaf ? 1 : 0) else { return false }
    }
    guard let to = bounds.to else { return true }
    return order(to, 0..<to.count, node.key, use) > 0
  }

  /// Compares a key in `other` with one of this page in the engine's order.
  private func order(_ other: [UInt8], _ a: Range<Int>, _ b: Range<Int>, _ use: Use) -> Int {
    if use == .freeList, a.count == 8, b.count == 8 {
      let (a, b) = (other.number(a.lowerBound), bytes.number(b.lowerBound))
      return a == b ? 0 : a < b ? -1 : 1
    }
    return other.rawBytes.extracting(a).compare(bytes.rawBytes.extracting(b))
  }
}
