package import CRDTCore
import Failpoints

/// A record that is not as it was written, or many records that cannot be reached.
package struct DamagedRecord: Hashable, Sendable {
  @TextKey package private(set) var collection: String
  /// The document's id; `nil` if not even that is known.
  package let id: DocumentID?
  /// The document's number; `nil` if its key is damaged or leads to no row.
  package let number: DocumentNumber?
  /// The documents that cannot be reached, if a page is damaged and not a single record.
  package var span: DocumentSpan?
}

/// Where a document is in its store, and which commit last wrote it.
package struct RecordPlace: Hashable, Sendable {
  package let number: DocumentNumber
  /// The sequence of the commit that wrote it.
  package let sequence: UInt64
}

extension ReadTransaction {
  /// The number of the newest document.
  package var lastNumber: DocumentNumber { log.lastNumber }

  /// Visits a collection's intact records by ascending number until `body` returns `false`, tombstones too.
  ///
  /// - Parameters:
  ///   - collection: The collection.
  ///   - numbers: The first and the last number, both included.
  ///   - damaged: Is called with damaged records, which are skipped.
  ///   - body: Is called with the number, the id's bytes, the summary and the record, verified, all in place.
  /// - Throws: What the closures throw, and what reading throws.
  package borrowing func forEachIntactRecord(
    in collection: Collection, numbers: ClosedRange<DocumentNumber>,
    damaged: (DamagedRecord) -> Void,
    _ body: (
      _ number: DocumentNumber, _ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView
    ) throws -> Bool
  ) throws {
    let slot = slot
    try pages.forEachIntactRow(collection, numbers, damaged: damaged) { row in
      try slot.check()
      return try body(row.number, row.id, row.summary, RecordView(row.record))
    }
  }

  /// Visits a collection's intact records by ascending id bytes until `body` returns `false`, tombstones too.
  ///
  /// - Parameters:
  ///   - collection: The collection.
  ///   - from: The first id's bytes, included.
  ///   - to: The bytes of the id before which to stop.
  ///   - damaged: Is called with damaged records, which are skipped.
  ///   - body: Is called with the number, the id's bytes, the summary and the record, verified, all in place.
  /// - Throws: What the closures throw, and what reading throws.
  package borrowing func forEachIntactRecord(
    in collection: Collection, from: [UInt8] = [], to: [UInt8]? = nil,
    damaged: (DamagedRecord) -> Void,
    _ body: (
      _ number: DocumentNumber, _ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView
    ) throws -> Bool
  ) throws {
    let slot = slot
    try pages.forEachIntactRow(collection, from: from, to: to, damaged: damaged) { row in
      try slot.check()
      return try body(row.number, row.id, row.summary, RecordView(row.record))
    }
  }

  /// Visits a collection's intact records by number until `body` returns `false`, tombstones too.
  ///
  /// For numbers that are close to each other, it searches only for the first.
  ///
  /// - Parameters:
  ///   - collection: The collection.
  ///   - runs: Documents of the collection; some of them may no longer exist.
  ///   - damaged: Is called with damaged records, which are skipped.
  ///   - body: Is called with the number, the id's bytes, the summary and the record, verified, all in place.
  /// - Throws: What the closures throw, and what reading throws.
  package borrowing func forEachIntactRecord(
    in collection: Collection, runs: ArraySlice<DocumentRun>,
    damaged: (DamagedRecord) -> Void,
    _ body: (
      _ number: DocumentNumber, _ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView
    ) throws -> Bool
  ) throws {
    let slot = slot
    try pages.forEachIntactRow(collection, runs, damaged: damaged) { row in
      try slot.check()
      return try body(row.number, row.id, row.summary, RecordView(row.record))
    }
  }

  /// Passes a document's intact record, which may be a tombstone, to `body` in place.
  ///
  /// A compacted tombstone is passed as a bare tombstone, which has no place.
  ///
  /// - Returns: `false` when the document is unknown here. Also `false` when it cannot be read; `damaged` is
  ///   called then.
  /// - Throws: What the closures throw, and what reading throws.
  @discardableResult
  package borrowing func visitIntactRecord(
    _ collection: Collection, _ id: DocumentID, damaged: (DamagedRecord) -> Void,
    _ body: (_ place: RecordPlace?, _ record: borrowing RecordView, _ summary: Summary) throws -> Void
  ) throws -> Bool {
    let pages = try pages
    var number: DocumentNumber?
    let lookup: DocumentPages.Lookup
    do {
      lookup = try pages.lookUp(collection.id, id) { row in
        number = row.number
        try body(
          RecordPlace(number: row.number, sequence: row.sequence), RecordView(row.record), row.summary)
      }
    } catch let failure as StoreError {
      if let damage = try DamagedRecord(failure, in: collection, id: id) { damaged(damage) }
      return false
    }
    switch lookup {
    case .found: return true
    case .damaged:
      damaged(DamagedRecord(collection: collection.name, id: id, number: number))
      return false
    case .unknown:
      return try pages.withTombstone(collection.id, id, sites) { try body(nil, $0, $1) } != nil
    }
  }
}

extension DocumentPages {
  /// Looks up a document by its id, verifies its row, and passes it to `body`.
  func lookUp(
    _ collection: UInt32, _ id: DocumentID, _ body: (borrowing DocumentRow) throws -> Void
  ) throws -> Lookup {
    try DocumentPath.withKey(collection, id.bytes.rawBytes) { path in
      var isWhole = true
      let lookup = try visitRow(path) { row in
        isWhole = row.verify(for: path) || StoreDefect.damagedRecordSent.isPlanted
        if isWhole { try body(row) }
      }
      return isWhole ? lookup : .damaged
    }
  }

  fileprivate func forEachIntactRow(
    _ collection: Collection, _ numbers: ClosedRange<DocumentNumber>,
    damaged: (DamagedRecord) -> Void, _ body: (borrowing DocumentRow) throws -> Bool
  ) throws {
    let start = DocumentPlace(collection.id, numbers.lowerBound).withKey { key in key.copied }
    var last: DocumentNumber?
    try access.scan(
      tables.documents, from: start.rawBytes,
      missed: { (failure) throws(StoreError) in
        guard let damage = try DamagedRecord(failure, in: collection),
          case .numbers(let missed) = damage.span, missed.overlaps(numbers)
        else { return false }
        damaged(damage)
        return true
      }
    ) { key, stored in
      guard let place = DocumentPlace(key) else {
        guard DocumentPlace.collection(of: key) == collection.id else { return false }
        damaged(DamagedRecord(collection: collection.name, id: nil, number: nil))
        return true
      }
      guard place.collection == collection.id, place.number <= numbers.upperBound else { return false }
      // Swapped pages hold intact rows, but not in order.
      guard let row = DocumentRow(stored, number: place.number), last.map({ $0 < place.number }) ?? true,
        row.verify(in: collection.id) || StoreDefect.damagedRecordSent.isPlanted
      else {
        damaged(Self.damage(stored, place.number, in: collection))
        return true
      }
      last = place.number
      return try body(row)
    }
  }

  fileprivate func forEachIntactRow(
    _ collection: Collection, _ runs: ArraySlice<DocumentRun>,
    damaged: (DamagedRecord) -> Void, _ body: (borrowing DocumentRow) throws -> Bool
  ) throws {
    let cursor = try PointCursor(access, tables.documents)
    var goesOn: Bool? = true
    for run in runs where goesOn != false {
      guard run.count == 1 else {
        try forEachIntactRow(collection, run.numbers, damaged: damaged) { row in
          goesOn = try body(row)
          return goesOn == true
        }
        continue
      }
      let place = DocumentPlace(collection.id, run.numbers.lowerBound)
      goesOn = try passing(place.number, in: collection, damaged) {
        try place.withKey { (key) throws(any Error) in
          try cursor.withValue(key) { stored in
            PageAccess.prefetch(stored)
            guard let row = DocumentRow(stored, number: place.number),
              row.verify(in: collection.id) || StoreDefect.damagedRecordSent.isPlanted
            else {
              damaged(Self.damage(stored, place.number, in: collection))
              return true
            }
            return try body(row)
          }
        }
      }
    }
  }

  /// Runs a look-up of a number's row.
  ///
  /// - Returns: `true` if damage prevents it; `damaged` is called then.
  private func passing(
    _ number: DocumentNumber, in collection: Collection, _ damaged: (DamagedRecord) -> Void,
    _ body: () throws -> Bool?
  ) throws -> Bool? {
    do { return try body() } catch let failure as StoreError {
      if let damage = try DamagedRecord(failure, in: collection, number: number) { damaged(damage) }
      return true
    }
  }

  /// The description of a damaged row: with its document's id, if that can be read.
  private static func damage(
    _ stored: RawSpan, _ number: DocumentNumber, in collection: Collection
  ) -> DamagedRecord {
    var id: DocumentID?
    if let row = DocumentRow(stored, number: number) { id = try? DocumentID(validating: row.id) }
    return DamagedRecord(collection: collection.name, id: id, number: number)
  }

  fileprivate func forEachIntactRow(
    _ collection: Collection, from: [UInt8], to: [UInt8]?,
    damaged: (DamagedRecord) -> Void, _ body: (borrowing DocumentRow) throws -> Bool
  ) throws {
    let end = to.map { to in IDKey.bytes(collection.id, to.rawBytes) }
    let cursor = try PointCursor(access, tables.documents)
    var order = KeyOrder()
    try ids.scan(
      from: IDKey.bytes(collection.id, from.rawBytes).rawBytes,
      missed: { (failure) throws(StoreError) in
        guard let damage = try DamagedRecord(failure, in: collection),
          case .ids(let first, _) = damage.span, to.map(first.lexicographicallyPrecedes) ?? true
        else { return false }
        damaged(damage)
        return true
      }
    ) { idKey, value in
      guard let (number, start) = IDKey.parse(idKey), number == collection.id else { return false }
      if let end, idKey.compare(end.rawBytes) >= 0 { return false }
      let id = idKey.extracting(start..<idKey.byteCount)
      let place = DocumentPlace(collection.id, IDPages.number(value))
      let rises = order.rises(to: idKey)
      let goesOn = try passing(place.number, in: collection, damaged) {
        try place.withKey { (key) throws(any Error) -> Bool?? in
          try cursor.withValue(key) { stored in
            guard let row = DocumentRow(stored, number: place.number), row.id.isEqual(to: id), rises,
              row.verify(in: collection.id) || StoreDefect.damagedRecordSent.isPlanted
            else { return nil }
            return try body(row)
          }
        } ?? nil
      }
      if let goesOn { return goesOn }
      damaged(
        DamagedRecord(collection: collection.name, id: try? DocumentID(validating: id), number: place.number))
      return true
    }
  }
}
