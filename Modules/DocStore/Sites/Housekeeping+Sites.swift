import CRDTCore

/// The progress of a collection of sites.
struct SitePass {
  /// Writers of removed records, counted when the pass began.
  var gone = 0
  /// Sites that are only on disk, counted after the last pass, or when the store was opened.
  var former: Int?
  /// The environment in which the records were marked.
  weak var environment: Environment?

  /// For fewer, it is not worth reading all documents.
  static let minimum = 4_096
}

/// Removes sites that no document names, except those in memory.
///
/// First it reads all records and marks the sites that they name. Records that are written meanwhile are
/// marked, too. One turn later it removes the sites without a mark, unless a snapshot from before is still
/// open. So a reader that still holds an older record finds the sites that the record names. A crash loses
/// the marks; sites removed by then are named by no record.
extension Housekeeping {
  private var marks: SiteMarks { writer.siteMarks }

  /// Advances the collection of sites by one step, or completes it.
  func collectSites(atOnce: Bool) throws {
    do {
      if marks.marked == nil {
        guard try isWorthIt() else { return }
        try mark()
        guard atOnce else { return }
      }
      guard try isUnseen() else { return }
      try sweep()
    } catch let error as StoreError where error.code == .corrupt {
      // A record that cannot be read may name any of them.
      marks.end()
      options.write(.warning, "Sites that no document names any more stay: \(error)")
    } catch {
      marks.end()
      throw error
    }
  }

  /// Whether a pass is worthwhile.
  ///
  /// It is if enough sites may have lost their last document, or if the number of sites has grown enough.
  private func isWorthIt() throws -> Bool {
    let (counts, stored) = try read { access, tables in
      (try LogState(access, tables).sites, try access.entryCount(tables.sites))
    }
    let settled = stored - (counts.stored - max(counts.settled, 1))
    let former = sitePass.former ?? settled
    sitePass.former = former
    guard settled > 0 else { return false }
    return counts.gone >= max(SitePass.minimum, settled / 4)
      || settled >= 2 * former + 16 * SitePass.minimum
  }

  /// Marks the sites that records and compacted tombstones name.
  private func mark() throws {
    let marks = marks
    let gone = try write { transaction in
      marks.begin(below: transaction.firstKeptSite)
      return transaction.goneWriters
    }
    sitePass.gone = gone
    sitePass.environment = try openEnvironment()
    var next: [UInt8]? = []
    while let start = next { next = try markDocuments(from: start) }
    let number = try read { access, tables in
      try access.scan(tables.certificates, from: [UInt8]().rawBytes) { key, stored in
        for ordinal in Certificate.sites(stored, at: key) { marks.mark(ordinal) }
        return true
      }
      return access.transactionNumber
    }
    marks.finish(number)
  }

  /// - Returns: Where the next slice begins; `nil` after the last one.
  private func markDocuments(from start: [UInt8]) throws -> [UInt8]? {
    if isStopping { throw Self.closed }
    let isTimeUp = slice.end()
    let marks = marks
    return try read { access, tables in
      var next: [UInt8]?
      var count = 0
      try access.scan(tables.documents, from: start.rawBytes) { key, stored in
        count += 1
        guard count % 64 != 0 || !isTimeUp() else {
          next = key.copied
          return false
        }
        if let place = DocumentPlace(key), let row = DocumentRow(stored, number: place.number) {
          marks.mark(RecordView(row.record))
        }
        return true
      }
      return next
    }
  }

  /// Whether no snapshot is open from before all records were marked.
  private func isUnseen() throws -> Bool {
    let environment = try openEnvironment()
    guard let number = marks.marked, environment === sitePass.environment, !writer.archive.hasFormer else {
      // A compaction numbers transactions from the beginning.
      marks.end()
      return false
    }
    return environment.readers.withLock { board in
      board.active.allSatisfy { $0.access.transactionNumber >= number }
    }
  }

  private func sweep() throws {
    let (marks, slice) = (marks, slice)
    var next: UInt32? = 0
    while let start = next {
      let result = try write { try $0.sweepSites(marks, from: start, until: slice.end()) }
      next = result.next
      try note(.init(sites: result.count))
    }
    let gone = sitePass.gone
    try write { $0.settleGone(gone) }
    marks.end()
    sitePass.former = nil
  }
}
