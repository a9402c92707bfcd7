import CLMDB
import CRDTCore

/// The documents on the pages of one snapshot; both kinds of transaction read through it.
struct DocumentPages {
  let access: PageAccess
  let tables: Tables
  /// The cache of documents' numbers; without it, each number is looked up.
  var numbers = NumberCache.none
  /// The cursor in the table `documents`, for a write transaction, which may replace what it has looked up.
  var cursor: WritingCursor?

  var ids: IDPages { IDPages(access: access, tables: tables) }

  /// The result of looking up a document by its key.
  enum Lookup {
    case unknown
    case found
    /// The document's number leads to no row, or to another document's row.
    case damaged
  }

  // MARK: - One document

  /// The number stored under a document's key, right or wrong; `nil` when the document is unknown here.
  @inline(__always)
  func number(at path: RawSpan) throws -> DocumentNumber? {
    try ids.number(at: path)
  }

  /// Passes the row of the document with the key `path` to `body`, without verifying it.
  @inline(__always)
  func visitRow(_ path: RawSpan, _ body: (borrowing DocumentRow) throws -> Void) throws -> Lookup {
    let hash = numbers.hash(of: path)
    var remembered = numbers.number(under: hash)
    while true {
      guard let number = try remembered ?? numberToRemember(at: path, hash) else {
        return try isHidden(path) ? .damaged : .unknown
      }
      var isFound = false
      let place = DocumentPlace(DocumentPath.collection(of: path) ?? 0, number)
      do {
        _ = try visitRow(at: place) { row in
          guard row.id.isEqual(to: DocumentPath.id(of: path)) else { return }
          isFound = true
          try body(row)
        }
      } catch let error as StoreError where error.damagedTable == .documents && !isFound && remembered != nil
      {
        // The remembered number leads to a damaged entry; the table `ids` says whether it is this document's.
      }
      if isFound { return .found }
      if remembered == nil { return .damaged }
      // The remembered number is from another snapshot, or another document's.
      remembered = nil
    }
  }

  /// Passes the row at a place to `body`.
  ///
  /// - Returns: `false` when there is none.
  @inline(__always)
  func visitRow(at place: DocumentPlace, _ body: (borrowing DocumentRow) throws -> Void) throws -> Bool {
    // Errors are typed so that the call looks up no types while it runs.
    let found: Void? = try place.withKey { (key) throws(any Error) in
      if let cursor {
        return try cursor.withValue(key) { stored in
          PageAccess.prefetch(stored)
          if let row = DocumentRow(stored, number: place.number) { try body(row) }
        }
      }
      return try access.withValue(tables.documents, key) { stored in
        PageAccess.prefetch(stored)
        if let row = DocumentRow(stored, number: place.number) { try body(row) }
      }
    }
    return found != nil
  }

  /// Verifies a document's row and passes it to `body` in place.
  ///
  /// - Returns: `nil` when the document is unknown here.
  @inline(__always)
  func withRecord<R>(
    _ collection: UInt32, named name: String, _ id: DocumentID, _ body: (borrowing DocumentRow) throws -> R
  ) throws -> R? {
    var result: R?
    try visitRecord(collection, named: name, id) { result = try body($0) }
    return result
  }

  /// The same for a body without a result, which avoids looking up types while it runs.
  ///
  /// - Returns: `false` when the document is unknown here.
  @discardableResult
  func visitRecord(
    _ collection: UInt32, named name: String, _ id: DocumentID,
    _ body: (borrowing DocumentRow) throws -> Void
  ) throws -> Bool {
    let lookup = try lookUp(collection, id, body)
    if lookup == .damaged { throw Self.damaged(name, id) }
    return lookup == .found
  }

  /// Verifies the row of a number and passes it to `body`.
  ///
  /// - Returns: `nil` when no document has the number.
  func withRecord<R>(
    numbered number: DocumentNumber, in collection: Collection, _ body: (borrowing DocumentRow) throws -> R
  ) throws -> R? {
    var result: R?
    let isThere = try visitRow(at: DocumentPlace(collection.id, number)) { row in
      guard row.isIntact(in: collection.id), RecordView(row.record).verify() else {
        throw Self.damaged(collection.name, row.id)
      }
      result = try body(row)
    }
    if isThere, result == nil { throw Self.damaged(collection.name, number) }
    return result
  }

  // MARK: - Many

  /// The bytes of a row that most predicates read: its head, the record's keys and slots, short values.
  private static let bytesAhead = 384

  /// Visits the documents of a collection in the order of their ids' bytes until `body` returns `false`.
  ///
  /// If `records` is given and the visit is not ended early, there must be that many records.
  func forEachRecord(
    _ collection: Collection, from: [UInt8]?, to: [UInt8]?, verify: Bool, records: UInt64?,
    _ body: (RawSpan, Summary, borrowing RecordView) throws -> Bool
  ) throws {
    let end = to.map { to in IDKey.bytes(collection.id, to.rawBytes) }
    let cursor = try PointCursor(access, tables.documents)
    var order = KeyOrder()
    let start = from ?? []
    var (count, isWhole) = (UInt64(0), true)
    try ids.scan(from: IDKey.bytes(collection.id, start.rawBytes).rawBytes) { idKey, value in
      guard let (number, start) = IDKey.parse(idKey), number == collection.id else { return false }
      if let end, idKey.compare(end.rawBytes) >= 0 { return false }
      let id = idKey.extracting(start..<idKey.byteCount)
      let place = DocumentPlace(collection.id, IDPages.number(value))
      let goesOn = try place.withKey { (key) throws(any Error) in
        try cursor.withEntry(key) { stored, isSuspect in
          guard let row = DocumentRow(stored, number: place.number), row.id.isEqual(to: id),
            !(verify || isSuspect) || row.verify(in: collection.id) && order.rises(to: idKey)
          else { throw Self.damaged(collection.name, id) }
          return try body(id, row.summary, RecordView(row.record))
        }
      }
      guard let goesOn else { throw Self.damaged(collection.name, id) }
      count += 1
      isWhole = goesOn
      return goesOn
    }
    if isWhole, from == nil, to == nil { try Self.check(count, of: records, in: collection) }
  }

  /// Visits the rows of a collection in the order of their numbers until `body` returns `false`.
  ///
  /// If `records` is given and the visit is not ended early, there must be that many. A caller that tolerates
  /// damage checks the rows itself.
  func forEachRow(
    _ collection: Collection, from: DocumentNumber = .none, verify: Bool, records: UInt64? = nil,
    isTolerant: Bool = false, _ body: (borrowing DocumentRow) throws -> Bool
  ) throws {
    var order = KeyOrder()
    let start = DocumentPlace(collection.id, from).withKey { key in key.copied }
    let number = collection.id
    var (count, isWhole) = (UInt64(0), true)
    try access.scan(tables.documents, from: start.rawBytes, ahead: Self.bytesAhead) {
      key, stored, isSuspect in
      guard let place = DocumentPlace(key), place.collection == number,
        let row = DocumentRow(stored, number: place.number)
      else {
        guard DocumentPlace.collection(of: key) == number else { return false }
        throw Self.damaged(collection.name, DocumentPlace(key)?.number ?? .none)
      }
      if verify || isSuspect && !isTolerant {
        guard row.verify(in: collection.id), order.rises(to: key) else {
          throw Self.damaged(collection.name, row.id)
        }
      }
      count += 1
      isWhole = try body(row)
      return isWhole
    }
    if isWhole, from == .none { try Self.check(count, of: records, in: collection) }
  }

  /// The number of records that the collection's entry counts; `nil` if that entry cannot be read.
  func recordCount(of collection: Collection) -> UInt64? {
    let key = StoreState.key(collection.id)
    let count = try? access.small(key, in: tables.collections, "collections") { reader throws(CodecError) in
      _ = try reader.readFixed(as: UInt64.self)
      return try reader.readFixed(as: UInt64.self)
    }
    return count ?? nil
  }

  private static func check(
    _ count: UInt64, of records: UInt64?, in collection: Collection
  ) throws(StoreError) {
    guard let records, count < records else { return }
    throw StoreError(
      .corrupt,
      "The collection \(collection.name) counts \(records) documents, of which \(count) are found",
      operation: "read")
  }

  /// The documents that are too large for a peer that has nothing of them.
  func oversize(_ name: (UInt32) -> String?) throws -> [OversizeDocument] {
    var found: [OversizeDocument] = []
    try access.scan(tables.oversize, from: [UInt8]().rawBytes) { key, stored in
      let value = try SmallRecord.open(stored, at: key, table: "oversize")
      var reader = ByteReader(value.rawBytes)
      guard let collection = DocumentPath.collection(of: key), let name = name(collection),
        let byteCount = try? reader.readFixed(as: UInt64.self)
      else { throw SmallRecord.damaged("oversize") }
      let id = DocumentID(trusted: DocumentPath.idBytes(of: key))
      found.append(OversizeDocument(collection: name, id: id, byteCount: Int(clamping: byteCount)))
      return true
    }
    return found
  }

  // MARK: - Damage

  static func damaged(_ collection: String, _ id: DocumentID) -> StoreError {
    damaged(collection, id.bytes.rawBytes)
  }

  /// An id's bytes in hexadecimal, so that contents do not appear as readable text.
  static func digits(_ id: RawSpan) -> String {
    unsafe id.withUnsafeBytes { bytes in
      unsafe bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }
  }

  private static func damaged(_ collection: String, _ id: RawSpan) -> StoreError {
    StoreError(
      .corrupt, "The record of document \(digits(id)) in the collection \(collection) is damaged",
      operation: "read")
  }

  /// The error for a row that does not even name its document.
  private static func damaged(_ collection: String, _ number: DocumentNumber) -> StoreError {
    StoreError(
      .corrupt, "The record with the number \(number.rawValue) in the collection \(collection) is damaged",
      operation: "read")
  }
}

/// Checks that keys are in order: two swapped pages hold intact records, but not in order.
struct KeyOrder {
  private var last: [UInt8] = []

  mutating func rises(to key: RawSpan) -> Bool {
    guard last.rawBytes.compare(key) < 0 else { return false }
    last.removeAll(keepingCapacity: true)
    unsafe key.withUnsafeBytes { unsafe last.append(contentsOf: $0) }
    return true
  }
}

extension Record {
  /// Copies bytes of a page.
  init(copying bytes: RawSpan) { self.init(bytes: bytes.copied) }
}
