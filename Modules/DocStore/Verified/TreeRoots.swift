import CLMDB
import CRDTCore

/// The root of a tree, and the engine's counts for it.
struct TreeRoot: Sendable {
  /// The topmost page; negative for an empty tree, and for one that does not exist.
  let page: Int
  let depth: Int
  let entries: Int
  let pages: Int

  /// The root for a table that the file does not have.
  static let none = TreeRoot(page: -2, depth: 0, entries: 0, pages: 0)
  /// A greater depth is impossible in a file that fits on a disk.
  static let maximumDepth = TreeLevels.count

  var isEmpty: Bool { page < 0 }

  /// Whether the table does not exist.
  var isMissing: Bool { page == Self.none.page }

  private init(page: Int, depth: Int, entries: Int, pages: Int) {
    (self.page, self.depth, self.entries, self.pages) = (page, depth, entries, pages)
  }

  /// Reads the engine's entry of a tree; `nil` if it is not valid.
  init?(_ tree: PageFile.Tree, isFreeList: Bool = false) {
    guard tree.isPlausible, tree.flags & 0xFF == (isFreeList ? TreePage.Flag.integerKeys : 0),
      tree.depth <= Self.maximumDepth, tree.entries >= 0,
      tree.branchPages >= 0, tree.leafPages >= 0, tree.overflowPages >= 0
    else { return nil }
    self.init(
      page: tree.isEmpty ? -1 : tree.root, depth: tree.depth, entries: tree.entries,
      pages: tree.branchPages + tree.leafPages + tree.overflowPages)
  }
}

/// The trees of one commit.
final class TreeRoots: Sendable {
  /// The commit's number.
  let number: UInt64
  /// The number of pages that the commit may refer to.
  let pageCount: Int
  /// The pages of all trees.
  let usedPages: Int
  private let trees: ContiguousArray<TreeRoot>

  private init(number: UInt64, pageCount: Int, _ trees: ContiguousArray<TreeRoot>) {
    (self.number, self.pageCount, self.trees) = (number, pageCount, trees)
    usedPages = trees.reduce(0) { $0 + $1.pages }
  }

  /// Only the list of tables and the list of free pages, which a meta page names.
  convenience init?(_ meta: PageFile.Meta) {
    guard let list = TreeRoot(meta.tables), let free = TreeRoot(meta.freeList, isFreeList: true)
    else {
      return nil
    }
    var trees = Self.empty
    trees[StoreTable.list.rawValue] = list
    trees[StoreTable.freeList.rawValue] = free
    self.init(number: meta.transaction, pageCount: meta.lastPage + 1, trees)
  }

  /// The same trees and the named tables, whose roots are in the list of tables.
  ///
  /// - Parameters:
  ///   - base: A commit from which named tables are taken first.
  ///   - fill: Sets the roots of the named tables.
  /// - Returns: The trees of the commit.
  /// - Throws: What `fill` throws.
  func adding<E: Error>(
    to base: TreeRoots? = nil, _ fill: (inout ContiguousArray<TreeRoot>) throws(E) -> Void
  ) throws(E) -> TreeRoots {
    var trees = trees
    if let base {
      for table in StoreTable.named { trees[table.rawValue] = base[table] }
    }
    try fill(&trees)
    return TreeRoots(number: number, pageCount: pageCount, trees)
  }

  /// The value before the first commit is known.
  static let none = TreeRoots(number: 0, pageCount: 0, empty)

  private static let empty = ContiguousArray(repeating: TreeRoot.none, count: StoreTable.count)

  subscript(table: StoreTable) -> TreeRoot {
    @inline(__always) get { trees[table.rawValue] }
  }
}

/// A tree of the engine's file: a named table, their list, or the list of free pages.
struct StoreTable: Hashable, Sendable {
  let rawValue: Int

  static let count = 20
  /// The list of named tables.
  static let list = StoreTable(rawValue: 18)
  static let freeList = StoreTable(rawValue: 19)

  /// How many tables the engine numbers before the named ones.
  private static let first: MDB_dbi = 2

  private init(rawValue: Int) { self.rawValue = rawValue }

  /// The table of a handle; named tables are opened in the order of ``Tables/names``.
  @inline(__always)
  init(_ handle: MDB_dbi) {
    // The list of free pages has the handle 0, the list of tables 1.
    rawValue = handle >= Self.first ? Int(handle &- Self.first) : 19 &- Int(handle)
  }

  /// A named table; `nil` for a table of another release.
  init?(named name: String) {
    guard let place = Tables.names.firstIndex(where: { $0.isSame(as: name) }) else { return nil }
    rawValue = place
  }

  /// The same for the bytes of a name; callers usually ask for the tables in the order of their names.
  ///
  /// - Parameters:
  ///   - name: The name.
  ///   - next: The position of the expected name in the sorted names; afterwards the position after the found
  ///     one.
  init?(spelled name: RawSpan, _ next: inout Int) {
    let spellings = Self.spellings
    func isAt(_ place: Int) -> Bool {
      guard place < spellings.count else { return false }
      let bytes = spellings[place].bytes
      return bytes.rawBytes.isEqual(to: name)
    }
    guard let place = isAt(next) ? next : spellings.indices.first(where: isAt) else { return nil }
    rawValue = spellings[place].table.rawValue
    next = place + 1
  }

  /// The names sorted by their bytes.
  private static let spellings = named.map { (table: $0, bytes: Array($0.name.utf8)) }
    .sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }

  static let all = [list, freeList] + named
  static let named = Tables.names.indices.map { StoreTable(rawValue: $0) }

  /// The tables that each hold one working table.
  static let working: [StoreTable] = [siteKeyed, StoreTable(rawValue: 15), StoreTable(rawValue: 16)]

  /// The engine's number.
  var handle: MDB_dbi {
    switch self {
    case .freeList: 0
    case .list: 1
    default: MDB_dbi(rawValue) + Self.first
    }
  }

  var name: String {
    switch self {
    case .freeList: "free pages"
    case .list: "list of tables"
    default: Tables.names[rawValue]
    }
  }

  var use: TreePage.Use {
    switch self {
    case .freeList: .freeList
    case .list: .tables
    default: .entries
    }
  }

  /// Whether its entries contain page numbers.
  var hasPageNumbers: Bool { self == .list || self == .freeList }

  static let ids = StoreTable(rawValue: 5)
  static let recent = StoreTable(rawValue: 6)
  static let documents = StoreTable(rawValue: 7)
  static let log = StoreTable(rawValue: 8)
  static let rows = StoreTable(rawValue: 11)
  /// The working table whose keys are sites; the store keeps these sites while they are in it.
  static let siteKeyed = StoreTable(rawValue: 14)
  static let side = StoreTable(rawValue: 17)
}
