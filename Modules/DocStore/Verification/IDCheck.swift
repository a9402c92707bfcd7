import CRDTCore

extension ReadTransaction {
  /// Compares the documents' ids with their rows: each must lead to the other.
  ///
  /// Documents and entries that are damaged by themselves are reported elsewhere.
  /// - Complexity: O(*n* log *n*) in the documents, and constant memory.
  borrowing func checkIDs(_ report: inout VerificationReport) throws {
    var pages = try pages
    // The stored numbers are to be checked, not the cached ones.
    pages.numbers = .none
    let catalogue = try pages.collections()
    let known = Dictionary(catalogue.map { ($0.id, $0.name) }) { first, _ in first }
    var findings: [VerificationReport.Damage] = []
    func note(_ message: String, _ collection: UInt32, _ id: RawSpan) {
      findings.append(
        VerificationReport.Damage(
          kind: .document, collection: known[collection], id: DocumentPages.digits(id), message: message))
    }
    try pages.ids.scan(from: [UInt8]().rawBytes) { key, _ in
      guard let (collection, start) = IDKey.parse(key), findings.count < Self.limit else { return false }
      let id = key.extracting(start..<key.byteCount)
      let lookup = try DocumentPath.withKey(collection, id) { try pages.visitRow($0) { _ in } }
      if lookup == .damaged { note("The document's number does not lead to its record", collection, id) }
      return true
    }
    try pages.access.scan(pages.tables.documents, from: [UInt8]().rawBytes) { key, stored in
      guard findings.count < Self.limit else { return false }
      guard let place = DocumentPlace(key), let row = DocumentRow(stored, number: place.number),
        row.isIntact(in: place.collection)
      else { return true }
      let number = try DocumentPath.withKey(place.collection, row.id) { try pages.number(at: $0) }
      if number != place.number {
        note("The document cannot be found by its id", place.collection, row.id)
      }
      return true
    }
    // A document that is already reported as damaged cannot be reached for that reason.
    let damaged = Set(report.damages.map { [$0.collection, $0.id] })
    for finding in findings where !damaged.contains([finding.collection, finding.id]) {
      report.note(finding.kind, finding.message, collection: finding.collection, id: finding.id)
    }
  }

  private static var limit: Int { VerificationReport.Limit.damages }
}
