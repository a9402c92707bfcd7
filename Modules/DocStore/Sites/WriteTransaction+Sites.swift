import CRDTCore

extension WriteTransaction {
  /// A new site counts as this many bytes of records.
  ///
  /// About 64 are for its disk space. The rest is for its work, which is that of a small document.
  package static let siteBytes = 512

  /// No site with a lower ordinal is in memory.
  var firstKeptSite: Int { withState { $0.sites.firstKept } }

  /// The number of writers of removed records, since sites were last collected.
  var goneWriters: Int { withState { $0.log.sites.gone } }

  /// Records that a record with this many writers is removed.
  func noteGone(writers: Int) {
    // The real sum never comes near this bound.
    withState { $0.log.sites.gone = min($0.log.sites.gone, .max / 2) + writers }
  }

  /// Subtracts this many writers from the count.
  func settleGone(_ writers: Int) { withState { $0.log.sites.gone = max($0.log.sites.gone - writers, 0) } }

  /// Removes sites without a mark until `isTimeUp`, but examines at least one run.
  ///
  /// It keeps the store's own site, and the sites that are keys of a working table, because the known
  /// readings of their clocks are needed. `first` is the key of the first run to examine.
  ///
  /// - Returns: How many sites were removed, and which run is next; `nil` after the last one.
  func sweepSites(
    _ marks: SiteMarks, from first: UInt32, until isTimeUp: () -> Bool
  ) throws -> (count: Int, next: UInt32?) {
    let access = try pagesToWrite("collect")
    makesRoom = true
    let limit = marks.limit
    let kept = try keySites(access)
    var (count, next) = (0, first)
    while let run = try self.run(from: next, access), Int(run.first) < limit {
      let gone = run.members.filter { marks.isFree($0.ordinal) && !kept.contains($0.site) }
      if !gone.isEmpty {
        let leaving = Set(gone.map(\.ordinal))
        let rest = run.members.filter { !leaving.contains($0.ordinal) }
        try update { () throws(StoreError) in
          for ordinal in leaving.sorted() {
            try access.delete(tables.sites, StoreState.key(ordinal).rawBytes)
          }
          let key = StoreState.key(run.first)
          if rest.isEmpty {
            try access.delete(tables.siteRuns, key.rawBytes)
          } else {
            try SmallRecord.put(SiteRun.encode(rest, from: run.first), at: key, in: tables.siteRuns, access)
          }
        }
        count += gone.count
      }
      next = run.first + 1
      if isTimeUp() { return (count, next) }
    }
    return (count, nil)
  }

  /// The next run from an ordinal.
  private func run(
    from start: UInt32, _ access: PageAccess
  ) throws -> (first: UInt32, members: [SiteRun.Member])? {
    var found: (first: UInt32, members: [SiteRun.Member])?
    try access.scan(tables.siteRuns, from: StoreState.key(start).rawBytes) { key, stored in
      var name = ByteReader(key)
      guard SmallRecord.isIntact(stored, at: key), let first: UInt32 = try? name.readFixed(),
        let count = SiteRun.count(stored)
      else { throw SmallRecord.damaged("siteRuns") }
      found = (first, (0..<count).map { SiteRun.member($0, of: stored, from: first) })
      return false
    }
    return found
  }

  private func keySites(_ access: PageAccess) throws -> Set<SiteID> {
    var kept: Set<SiteID> = [settings.site]
    try access.scan(StoreTable.siteKeyed.handle, from: [UInt8]().rawBytes) { key, _ in
      var name = ByteReader(key)
      if let site = try? name.readSite() { kept.insert(site) }
      return true
    }
    return kept
  }
}
