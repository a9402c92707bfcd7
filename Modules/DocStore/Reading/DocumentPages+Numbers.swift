import CLMDB
import CRDTCore

extension DocumentPages {
  /// Looks up the number under a document's key, like ``number(at:)``, and remembers it under the key's hash.
  ///
  /// When many numbers are looked up, it also remembers all numbers on the same page. Then each page is
  /// fetched from memory once, and not once for each of its ids.
  func numberToRemember(at path: RawSpan, _ hash: UInt64) throws -> DocumentNumber? {
    guard numbers.noteMiss(of: try ids.count) else {
      let number = try number(at: path)
      if let number { numbers.note(number, under: hash) }
      return number
    }
    return try IDKey.with(path) { (key) throws(any Error) in
      if let number = try numberWithPage(tables.ids, key) { return number }
      return try numberWithPage(tables.recent, key)
    }
  }

  private func numberWithPage(_ table: MDB_dbi, _ key: RawSpan) throws -> DocumentNumber? {
    let cursor = try PointCursor(access, table)
    guard let number = try cursor.withValue(key, { IDPages.number($0) }) else { return nil }
    try cursor.forEachOnPage(of: key) { key, value in
      guard let (collection, start) = IDKey.parse(key) else { return }
      let hash = numbers.hash(of: key.extracting(start..<key.byteCount), in: collection)
      numbers.note(IDPages.number(value), under: hash)
    }
    return number
  }
}
