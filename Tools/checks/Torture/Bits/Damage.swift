import TestKit

/// A change of a closed store's file, as a disk may make it.
struct Damage: CustomStringConvertible {
  /// Where damage is done.
  enum Target: String, CaseIterable {
    /// Any bit of the file.
    case anywhere = "any bit"
    /// The engine's description of a page.
    case pageHeader = "page headers"
    /// Where on its page an entry stands.
    case pointer = "pointers"
    /// An entry's key, size and what follows.
    case entry = "entries"
    /// The engine's description of the whole file.
    case meta = "meta pages"
    /// A page that is longer than one entry has room for.
    case longValue = "long values"
    case swap = "swapped pages"
    case stale = "old pages"
  }

  static let pageBytes = 4_096
  let target: Target
  private let change: String
  private(set) var bytes: [UInt8]

  var description: String { "\(change), one of the \(target.rawValue)" }

  /// Damages a copy of `file`; `older` is the same file some commits before.
  ///
  /// It is `nil` when the file has no such place, or nothing would change.
  init?(_ file: [UInt8], older: [UInt8], _ target: Target, _ random: inout SeededGenerator) {
    self.target = target
    bytes = file
    let pages = file.count / Self.pageBytes
    let page: Int
    switch target {
    case .swap:
      page = 2 + random.int(below: pages - 2)
      let other = 2 + random.int(below: pages - 2)
      change = "pages \(page) and \(other) swapped"
      copyPage(from: file, other, to: page)
      copyPage(from: file, page, to: other)
      if bytes == file { return nil }
    case .stale:
      page = 2 + random.int(below: min(pages, older.count / Self.pageBytes) - 2)
      change = "page \(page) as it was before"
      copyPage(from: older, page, to: page)
      if bytes == file { return nil }
    case .anywhere, .pageHeader, .pointer, .entry, .meta, .longValue:
      page = target == .meta ? random.int(below: 2) : random.int(below: pages)
      guard let offset = Self.offset(in: Page(file, page), target, &random) else { return nil }
      let bit = random.int(below: 8)
      change = "bit \(bit) of byte \(offset) of page \(page)"
      bytes[page * Self.pageBytes + offset] ^= 1 << UInt8(bit)
    }
  }

  private mutating func copyPage(from source: [UInt8], _ from: Int, to page: Int) {
    let start = from * Self.pageBytes
    bytes.replaceSubrange(
      page * Self.pageBytes..<(page + 1) * Self.pageBytes, with: source[start..<start + Self.pageBytes])
  }

  private static func offset(in page: Page, _ target: Target, _ random: inout SeededGenerator) -> Int? {
    switch target {
    case .anywhere: return random.int(below: pageBytes)
    case .pageHeader: return page.kind == .meta ? nil : random.int(below: Page.headerBytes)
    case .pointer:
      guard page.isTree, page.entries > 0 else { return nil }
      return Page.headerBytes + random.int(below: 2 * page.entries)
    case .entry:
      guard page.isTree, page.entries > 0 else { return nil }
      let start = page.entry(random.int(below: page.entries))
      return min(start + random.int(below: 24), pageBytes - 1)
    case .meta: return page.kind == .meta ? Page.headerBytes + random.int(below: 136) : nil
    case .longValue: return page.kind == .overflow ? random.int(below: pageBytes) : nil
    case .swap, .stale: return nil
    }
  }
}

/// One of the engine's pages, as its source describes them.
private struct Page {
  enum Kind: UInt16 { case branch = 1, leaf = 2, overflow = 4, meta = 8 }
  static let headerBytes = 16

  private let file: [UInt8]
  private let start: Int

  init(_ file: [UInt8], _ number: Int) {
    self.file = file
    start = number * Damage.pageBytes
  }

  private func half(_ offset: Int) -> UInt16 {
    UInt16(file[start + offset]) | UInt16(file[start + offset + 1]) << 8
  }

  var kind: Kind? { Kind(rawValue: half(10)) }
  var isTree: Bool { kind == .branch || kind == .leaf }
  var entries: Int { max(0, Int(half(12)) - Self.headerBytes) / 2 }

  /// Where an entry begins.
  func entry(_ index: Int) -> Int { min(Int(half(Self.headerBytes + 2 * index)), Damage.pageBytes - 1) }
}
