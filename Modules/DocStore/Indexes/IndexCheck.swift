import CRDTCore

/// Compares every row of an index with its document, and every document with its row.
struct IndexCheck {
  let pages: DocumentPages
  let collection: Collection
  let index: IndexState

  /// Calls `report` for each fault, with a sentence that contains no document contents.
  ///
  /// Other checks report damaged documents; this one skips their rows.
  /// - Complexity: O(*n* log *n*) in the documents, and constant memory.
  func run(_ report: (String) -> Void) throws {
    var paths = index.definition.fields.map { ResolvedPath($0.path.map(PathComponent.key)) }
    for field in paths.indices { paths[field].resolve(in: collection.keys) }
    let rows = try checkRows(paths, report)
    if rows != index.rowCount { report("\(name) counts \(index.rowCount) rows and has \(rows)") }
    let found = try checkDocuments(paths, report)
    // `checkRows` does not verify rows of elements, which are looked up only by document. So their counts are
    // compared.
    if let found, index.definition.hasElements, found != rows {
      report("\(name) has \(rows) rows of elements, of which there are \(found)")
    }
  }

  private var name: String { "The index \(index.definition.name) of the collection \(collection.name)" }

  private func checkRows(_ paths: [ResolvedPath], _ report: (String) -> Void) throws -> UInt64 {
    var count: UInt64 = 0
    let prefix = RowValue.prefix(index.number)
    var expected = DocumentRows()
    try pages.access.scan(pages.tables.rows, from: prefix.rawBytes) { key, value in
      guard key.byteCount >= prefix.count, key.extracting(0..<prefix.count).isEqual(to: prefix.rawBytes)
      else { return false }
      count += 1
      guard let row = IndexRow(key: key, value: value) else {
        report("\(name) has a damaged row")
        return true
      }
      let number = row.document
      let isRight: Bool?
      do {
        isRight = try pages.withRecord(numbered: number, in: collection) { document in
          let view = RecordView(document.record)
          guard view.isAlive, index.covers(number) else { return false }
          if index.definition.hasElements { return true }
          expected.removeAll()
          try expected.append(index, paths, view, number, collection.keys)
          return expected.withKey(0) { $0.isEqual(to: key) } && RowValue(value, of: key) == expected.values[0]
        }
      } catch let error as StoreError where error.code == .corrupt {
        return true
      } catch is CodecError {
        return true
      }
      if isRight != true { report("\(name) has a row that does not fit its document") }
      return true
    }
    return count
  }

  /// - Returns: How many rows there should be; `nil` if damaged documents make that unknown.
  private func checkDocuments(_ paths: [ResolvedPath], _ report: (String) -> Void) throws -> UInt64? {
    var rows = DocumentRows()
    var count: UInt64? = 0
    try pages.forEachRow(collection, verify: false, isTolerant: true) { row in
      let record = RecordView(row.record)
      guard record.isAlive, index.covers(row.number) else { return true }
      rows.removeAll()
      do {
        guard record.verify() else { throw CodecError(.malformed, "a damaged document") }
        try rows.append(index, paths, record, row.number, collection.keys)
      } catch is CodecError {
        count = nil
        return true
      }
      for row in 0..<rows.count {
        let isThere: Bool? = try rows.withKey(row) { key in
          do {
            return try pages.access.withValue(pages.tables.rows, key) {
              RowValue($0, of: key) == rows.values[row]
            }
          } catch let error as StoreError where error.code == .corrupt && error.damaged == nil {
            // The damaged row beside it may have been this one; `checkRows` has reported it.
            return nil
          }
        }
        if isThere == nil { report("\(name) lacks the row of a document") }
        if isThere == false { report("\(name) has a row that does not fit its document") }
      }
      count = count.map { $0 + UInt64(rows.count) }
      return true
    }
    return count
  }
}

extension ReadTransaction {
  /// Checks every index of every collection; `report` gets a sentence for each fault.
  package borrowing func checkIndexes(_ report: (String) -> Void) throws {
    let names = try pages.collections().sorted { $0.id < $1.id }.map(\.name)
    let indexes = try pages.access.indexes(pages.tables, names: names)
    for (position, index) in indexes where index.phase != .dropping {
      guard let collection = try collection(names[position]) else { continue }
      try IndexCheck(pages: pages, collection: collection, index: index).run(report)
    }
    let known = Dictionary(indexes.map { ($0.index.number, $0.index.definition) }) { first, _ in first }
    try pages.checkStatistics(of: known, report)
    try pages.eachIndexNumber { number in
      if known[number] == nil { report("The table of rows has rows of an index that does not exist") }
    }
  }

  /// The number of rows of all indexes together, including those that are being removed.
  package borrowing func indexEntryCount() throws -> Int { try pages.access.entryCount(pages.tables.rows) }
}

extension DocumentPages {
  /// Checks that the statistics of indexes are well formed; they need not be up to date.
  fileprivate func checkStatistics(of indexes: [UInt32: IndexDefinition], _ report: (String) -> Void) throws {
    try access.scan(tables.indexes, from: [UInt8]().rawBytes) { key, stored in
      guard key.byteCount > 4 else { return true }
      do {
        var name = ByteReader(key)
        let number: UInt32 = try name.readFixed()
        guard let definition = indexes[number], key.isEqual(to: IndexStatistics.key(number).rawBytes) else {
          report("There are statistics of an index that does not exist")
          return true
        }
        let bytes = try SmallRecord.open(stored, at: key, table: "indexes")
        var reader = ByteReader(bytes.rawBytes)
        _ = try IndexStatistics(&reader, of: definition)
      } catch {
        report("The statistics of an index are damaged")
      }
      return true
    }
  }

  /// Visits the numbers of all indexes that have rows.
  fileprivate func eachIndexNumber(_ body: (UInt32) -> Void) throws {
    var next: UInt32? = 0
    while let start = next {
      next = nil
      try access.scan(tables.rows, from: RowValue.prefix(start).rawBytes) { key, _ in
        guard let number = RowValue.index(of: key) else { return true }
        body(number)
        next = number == .max ? nil : number + 1
        return false
      }
    }
  }
}
