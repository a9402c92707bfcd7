import CRDTCore

extension ReadTransaction {
  /// Checks that what is to be forgotten has its entry, and that no document has both a record and a certificate.
  ///
  /// - Parameter report: Gets a sentence for each thing that is wrong, without document contents.
  /// - Throws: What the engine reports.
  borrowing func checkExpiry(_ report: (String) -> Void) throws {
    let pages = try pages
    let (access, tables) = (pages.access, pages.tables)
    let hasCertificates = try access.entryCount(tables.certificates) > 0
    var (missing, doubled) = (0, 0)
    try access.scan(tables.documents, from: [UInt8]().rawBytes) { path, stored in
      guard stored.byteCount > Envelope.byteCount else { return true }
      let record = RecordView(stored.extracting(Envelope.byteCount..<stored.byteCount))
      // Damage is somebody else's finding.
      if record.verify(), record.isForgettable {
        var key = [ExpiryTable.byDocument]
        unsafe path.withUnsafeBytes { unsafe key.append(contentsOf: $0) }
        if try access.withValue(tables.expiry, key.rawBytes, { _ in true }) == nil { missing += 1 }
      }
      if hasCertificates {
        let key = Certificate.key(path)
        if try access.withValue(tables.certificates, key.rawBytes, { _ in true }) != nil { doubled += 1 }
      }
      return true
    }
    if missing > 0 { report("\(missing) documents with something to forget are not in the table expiry") }
    if doubled > 0 { report("\(doubled) documents have a record and a certificate of their death") }
  }
}
