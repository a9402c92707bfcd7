import CRDTCore

/// Keeps the rows of one collection's indexes in step with its documents, for one transaction.
///
/// It computes the rows of a document from its record before and after a change. Only rows that differ are
/// written. Its buffers are reused for each document.
final class IndexMaintainer {
  private struct Member {
    /// The index's position in its collection's list.
    let place: Int
    let state: IndexState
    var paths: [ResolvedPath]
    var rowDelta: Int64 = 0
    /// The number of rows added and removed.
    var changes: UInt64 = 0
  }

  /// The rows of one document in all indexes.
  private struct Rows {
    var rows = DocumentRows()
    /// For each index, the number of rows in it and in those before it.
    var ends: [Int] = []

    mutating func removeAll() {
      rows.removeAll()
      ends.removeAll(keepingCapacity: true)
    }

    func range(_ member: Int) -> Range<Int> { (member == 0 ? 0 : ends[member - 1])..<ends[member] }
  }

  private var members: [Member]
  private var old = Rows()
  private var new = Rows()

  init(_ indexes: [IndexState]) {
    members = indexes.enumerated().compactMap { place, state in
      guard state.phase != .dropping else { return nil }
      return Member(
        place: place, state: state,
        paths: state.definition.fields.map { ResolvedPath($0.path.map(PathComponent.key)) })
    }
  }

  /// Computes the rows of the present record under a number; `nil` if no living document has the number.
  func readOld(_ record: RawSpan?, _ number: DocumentNumber, _ keys: KeyTable) throws(StoreError) {
    try read(record, number, keys, into: &old)
  }

  /// Computes the rows of the new record under the number.
  func readNew(_ record: RawSpan?, _ number: DocumentNumber, _ keys: KeyTable) throws(StoreError) {
    try read(record, number, keys, into: &new)
  }

  private func read(_ record: RawSpan?, _ number: DocumentNumber, _ keys: KeyTable, into rows: inout Rows)
    throws(StoreError)
  {
    do throws(CodecError) {
      try fill(&rows, record, number, keys)
    } catch {
      throw StoreError(.corrupt, "A document cannot be indexed: \(error.message)", operation: "put")
    }
  }

  private func fill(
    _ rows: inout Rows, _ record: RawSpan?, _ number: DocumentNumber, _ keys: KeyTable
  ) throws(CodecError) {
    rows.removeAll()
    for index in members.indices {
      if let record, members[index].state.covers(number) {
        for field in members[index].paths.indices { members[index].paths[field].resolve(in: keys) }
        try rows.rows.append(
          members[index].state, members[index].paths, RecordView(record), number, keys)
      }
      rows.ends.append(rows.rows.count)
    }
  }

  /// Adds the differences between the old rows and the new ones to `buffer`; both are in key order.
  func apply(to buffer: inout IndexWriteBuffer) {
    for index in members.indices {
      var before = old.range(index)
      var after = new.range(index)
      while !before.isEmpty || !after.isEmpty {
        let order = before.isEmpty ? 1 : after.isEmpty ? -1 : compare(before.lowerBound, after.lowerBound)
        if order < 0 {
          append(before.removeFirst(), of: old, index, to: &buffer, isRemoval: true)
        } else if order > 0 {
          append(after.removeFirst(), of: new, index, to: &buffer, isRemoval: false)
        } else {
          keep(before.removeFirst(), as: after.removeFirst(), to: &buffer)
        }
      }
    }
  }

  private func compare(_ before: Int, _ after: Int) -> Int {
    old.rows.withKey(before) { before in new.rows.withKey(after) { before.compare($0) } }
  }

  private func append(
    _ row: Int, of rows: Rows, _ index: Int, to buffer: inout IndexWriteBuffer, isRemoval: Bool
  ) {
    rows.rows.withKey(row) { buffer.append($0, rows.rows.values[row], isRemoval: isRemoval) }
    members[index].rowDelta += isRemoval ? -1 : 1
    members[index].changes += 1
  }

  /// Updates the row's value: numbers of equal value but different kinds have the same key.
  private func keep(_ before: Int, as after: Int, to buffer: inout IndexWriteBuffer) {
    guard old.rows.values[before] != new.rows.values[after] else { return }
    new.rows.withKey(after) { buffer.append($0, new.rows.values[after], isRemoval: false) }
  }

  /// Removes the rows of a document whose record is damaged, so that its rows cannot be computed.
  ///
  /// - Complexity: O(*n*) in the rows of the collection's indexes.
  func removeRows(of number: DocumentNumber, _ access: PageAccess, _ tables: Tables) throws {
    for index in members.indices {
      let prefix = RowValue.prefix(members[index].state.number)
      var found: [[UInt8]] = []
      try access.scan(tables.rows, from: prefix.rawBytes) { key, value in
        guard key.byteCount > prefix.count, key.extracting(0..<prefix.count).isEqual(to: prefix.rawBytes)
        else { return false }
        if let row = IndexRow(key: key, value: value), row.document == number {
          found.append(unsafe key.withUnsafeBytes { unsafe Array($0) })
        }
        return true
      }
      for key in found where try access.delete(tables.rows, key.rawBytes) {
        members[index].rowDelta -= 1
        members[index].changes += 1
      }
    }
  }

  /// Adds the changes in the rows to `indexes`, the collection's list.
  ///
  /// - Parameters:
  ///   - indexes: The collection's list.
  ///   - minimum: The number of rows from which an index has statistics.
  /// - Returns: Whether the statistics of an index have just become stale.
  func settle(_ indexes: inout [IndexState], minimum: Int) -> Bool {
    var isStale = false
    for index in members.indices where members[index].changes > 0 {
      let place = members[index].place
      let wasStale = indexes[place].isStale(minimum: minimum)
      indexes[place].note(rowDelta: members[index].rowDelta, changes: members[index].changes)
      if !wasStale, indexes[place].isStale(minimum: minimum) { isStale = true }
      members[index].rowDelta = 0
      members[index].changes = 0
    }
    return isStale
  }
}
