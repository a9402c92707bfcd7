import CRDTCore

/// Reads everything in a snapshot and reports what is damaged.
struct Verification {
  private var walk: TreeWalk
  private var checks = EntryChecks()
  private let progress: (MaintenanceProgress) throws -> Void
  private var damagedTables: Set<TextKey> = []

  /// Comparisons of tables that must agree with each other.
  private static let comparisons:
    [@Sendable (borrowing ReadTransaction, inout VerificationReport) throws -> Void] = [
      { transaction, report in try transaction.checkIDs(&report) },
      { transaction, report in try transaction.checkIndexes { report.note(.index, $0) } },
      { transaction, report in try transaction.checkExpiry { report.note(.index, $0) } },
      { transaction, report in try transaction.checkLog { report.note(.index, $0) } },
    ]

  /// - Parameters:
  ///   - file: The commit's pages.
  ///   - progress: Called now and then with the entries done.
  ///   - found: Damage that is known already.
  ///   - receiver: Gets the pages of all tables and of their list.
  init(
    _ file: PageFile, _ progress: @escaping (MaintenanceProgress) throws -> Void, found: [PageDamage] = [],
    receiver: (any PageReceiver)? = nil
  ) {
    walk = TreeWalk(file)
    walk.receiver = receiver
    self.progress = progress
    for damage in found { checks.report.note(.page, damage.message) }
  }

  /// Checks pages, entries and counts.
  mutating func run() throws -> VerificationReport {
    // A copy, because found entries are checked while the walk continues.
    var walk = walk
    var trees: [TextKey: PageFile.Tree] = [:]
    for (name, tree) in walk.tables(damaged: { note($0, "list of tables") }) {
      trees[TextKey(String(decoding: name, as: UTF8.self))] = tree
    }
    let total = trees.values.reduce(0) { $0 + max($1.entries, 0) }
    var meter = ProgressMeter(total: total, progress)
    let known = Tables.names.map { TextKey($0) }
    for name in known + trees.keys.filter({ !known.contains($0) }).sorted() {
      guard let tree = trees[name] else {
        if name == TextKey(Tables.sideName) { continue }
        checks.report.note(.page, "The table \(name) is missing")
        damagedTables.insert(name)
        continue
      }
      try walk.walk(tree, as: .entries, damaged: { note($0, name.text) }) { key, value in
        checks.check(name, key, value)
        try meter.advance()
      }
    }
    if !damagedTables.contains("documents"), !damagedTables.contains("collections") { checks.checkCounts() }
    if damagedTables.isDisjoint(with: ["ids", "recent", "documents"]) { checks.checkIDSum() }
    if damagedTables.isDisjoint(with: ["sites", "siteRuns"]) { checks.checkSiteSum() }
    if !damagedTables.contains("expiry"), !checks.report.damages.contains(where: { $0.kind == .entry }) {
      checks.checkExpirySum()
    }
    let freePages = checkFreePages(&walk)
    checks.report.pageCount = walk.pageCount
    countUnread(trees, walk, freePages: freePages)
    try meter.finish()
    return checks.report
  }

  private mutating func note(_ damage: PageDamage, _ table: String) {
    damagedTables.insert(table)
    checks.report.note(.page, "\(damage.message), in the table \(table)")
  }

  /// Counts what the walk has not reached, or found damaged.
  private mutating func countUnread(_ trees: [TextKey: PageFile.Tree], _ walk: TreeWalk, freePages: Int) {
    let report = checks.report
    if let documents = trees["documents"]?.entries, documents >= report.documentCount {
      checks.report.unreadDocuments = documents - report.documentCount + checks.damagedDocuments
    }
    let isKnown = Tables.names.allSatisfy { trees[TextKey($0)] != nil || $0.isSame(as: Tables.sideName) }
    let entries = trees.values.reduce(0) { $0 + max($1.entries, 0) }
    if isKnown, entries >= report.entryCount { checks.report.unreadEntries = entries - report.entryCount }
    guard !damagedTables.isEmpty else { return }
    let read = Environment.metaPages + walk.pageCount + freePages
    checks.report.unreadPages = max(walk.file.pageCount - read, 0)
  }

  /// Checks that every page is either in use or free.
  ///
  /// - Returns: The number of free pages.
  private mutating func checkFreePages(_ walk: inout TreeWalk) -> Int {
    walk.receiver = nil
    let free = walk.freePages(damaged: { note($0, "free pages") })
    let clashes = free.filter { !walk.meet($0) }
    if !clashes.isEmpty {
      checks.report.note(.page, "\(clashes.count) pages are listed as free and are not, or twice")
    }
    if damagedTables.isEmpty { checks.report.lostPages = walk.unmetCount }
    return free.count - clashes.count
  }

  /// Compares tables that must agree, by reading through the engine; only if all pages are intact.
  static func compare(_ transaction: borrowing ReadTransaction, _ report: inout VerificationReport) throws {
    guard !report.damages.contains(where: { $0.kind == .page }) else { return }
    report.areIndexesChecked = true
    for comparison in comparisons {
      do {
        try comparison(transaction, &report)
      } catch let error as StoreError where error.code == .corrupt {
        // A needed entry cannot be read, so the rest of this comparison is missing.
        report.note(.entry, "\(error.message), so that not all tables were compared")
        report.areIndexesChecked = false
      }
    }
  }
}
