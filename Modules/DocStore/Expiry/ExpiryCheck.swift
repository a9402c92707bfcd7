import CLMDB
import CRDTCore

extension ReadTransaction {
  /// Compares the records of deletions with the documents; `report` gets a sentence for each fault.
  ///
  /// Other checks report damaged entries and documents.
  /// - Complexity: O(*n* log *n*) in the documents, and constant memory.
  borrowing func checkExpiry(_ report: (String) -> Void) throws {
    let pages = try pages
    let (access, tables) = (pages.access, pages.tables)
    let now = try LogState(access, tables).lived.now
    let table = ExpiryTable(access: access, table: tables.expiry)
    let hasCertificates = try access.entryCount(tables.certificates) > 0
    try access.scan(tables.documents, from: [UInt8]().rawBytes) { key, stored in
      guard let place = DocumentPlace(key), let row = DocumentRow(stored, number: place.number),
        RecordView(row.record).verify()
      else { return true }
      let isForgettable = RecordView(row.record).isForgettable
      try DocumentPath.withKey(place.collection, row.id) { path in
        if isForgettable, try !table.contains(path) {
          report("A document that has something to forget is not in the table expiry")
        }
        if hasCertificates,
          try access.withValue(tables.certificates, Certificate.key(path).rawBytes, { _ in true }) != nil
        {
          report("A document has both a record and a death certificate")
        }
      }
      return true
    }
    try checkTimes(access, tables, now: now, report)
  }

  private borrowing func checkTimes(
    _ access: PageAccess, _ tables: Tables, now: UInt64, _ report: (String) -> Void
  ) throws {
    let sites = sites
    try access.scan(tables.certificates, from: [UInt8]().rawBytes) { key, stored in
      if let certificate = Certificate(stored, at: key, sites), certificate.since > now {
        report("The time of a death certificate lies ahead")
      }
      return true
    }
    try access.scan(tables.expiry, from: [ExpiryTable.byTime].rawBytes) { key, stored in
      guard let entry = ExpiryTable.entry(key, stored) else { return false }
      if entry.since > now { report("A time in the table expiry lies ahead") }
      return true
    }
  }
}
