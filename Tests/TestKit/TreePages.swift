/// The pages of the last commit in a store's file, as `FileFormat.md` and LMDB's headers define them.
public struct TreePages {
  let bytes: [UInt8]
  public static let pageBytes = 4_096

  public init(bytes: [UInt8]) { self.bytes = bytes }

  /// A table's pages, level by level from the root down.
  public func levels(of table: String) -> [[Int]] {
    var found: [[Int]] = []
    var level = root(of: table).map { [$0] } ?? []
    while !level.isEmpty {
      found.append(level)
      level = level.flatMap { isBranch($0) ? children(of: $0) : [] }
    }
    return found
  }

  /// The leaves below a page, or itself.
  public func leaves(below page: Int) -> [Int] {
    isBranch(page) ? children(of: page).flatMap { leaves(below: $0) } : [page]
  }

  public func keys(on page: Int) -> [[UInt8]] { nodes(of: page).map(key) }

  private func root(of table: String) -> Int? {
    let newer = [0, 1].max { word($0 * Self.pageBytes + 144, 8) < word($1 * Self.pageBytes + 144, 8) } ?? 0
    let list = word(newer * Self.pageBytes + 128, 8)
    for page in leaves(below: list) {
      for node in nodes(of: page) where key(node) == Array(table.utf8) {
        let root = word(node + 8 + word(node + 6, 2) + 40, 8)
        return root < 0 ? nil : root
      }
    }
    return nil
  }

  private func isBranch(_ page: Int) -> Bool { word(page * Self.pageBytes + 10, 2) & 1 != 0 }

  private func children(of page: Int) -> [Int] {
    nodes(of: page).map { word($0, 4) | word($0 + 4, 2) << 32 }
  }

  private func nodes(of page: Int) -> [Int] {
    let start = page * Self.pageBytes
    return stride(from: start + 16, to: start + word(start + 12, 2), by: 2).map { start + word($0, 2) }
  }

  private func key(_ node: Int) -> [UInt8] { Array(bytes[node + 8..<node + 8 + word(node + 6, 2)]) }

  private func word(_ offset: Int, _ count: Int) -> Int {
    (0..<count).reduce(0) { $0 | Int(truncatingIfNeeded: UInt64(bytes[offset + $1]) << UInt64(8 * $1)) }
  }
}
