import CLMDB
import CRDTCore

extension DocumentPages {
  /// Looks up the number under a document's key, like ``number(at:)``, and remembers it under the key's hash.
  ///
  /// When many numbers are looked up, it also remembers all numbers on the same page. Then each page is
  /// fetched from memory once, and not once for each of its ids. A page of which one of the first two numbers
  /// is remembered was read in full before: an id that others have displaced costs only its own look-up.
  func numberToRemember(at path: RawSpan, _ hash: UInt64) throws -> DocumentNumber? {
    guard numbers.noteMiss(of: try ids.count) else {
      let number = try number(at: path)
      if let number { numbers.note(number, under: hash) }
      return number
    }
    return try IDKey.with(path) { (key) throws(any Error) in
      if let number = try numberWithPage(tables.ids, key, hash) { return number }
      return try numberWithPage(tables.recent, key, hash)
    }
  }

  private func numberWithPage(
    _ table: MDB_dbi, _ key: RawSpan, _ hash: UInt64
  ) throws -> DocumentNumber? {
    let cursor = try PointCursor(access, table)
    guard let number = try cursor.withValue(key, { IDPages.number($0) }) else { return nil }
    defer { numbers.note(number, under: hash) }
    var count = 0
    try cursor.forEachOnPage(of: key) { key, value in
      guard let (collection, start) = IDKey.parse(key) else { return true }
      let hash = numbers.hash(of: key.extracting(start..<key.byteCount), in: collection)
      let number = IDPages.number(value)
      if count < 2, numbers.number(under: hash) == number { return false }
      count += 1
      numbers.note(number, under: hash)
      return true
    }
    return number
  }
}
