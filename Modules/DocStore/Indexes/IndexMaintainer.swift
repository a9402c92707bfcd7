import CRDTCore

/// Keeps the rows of one collection's indexes in step with its documents, for one transaction.
///
/// The rows of a document are worked out from its record before and after a change; only those that
/// differ are written. Its buffers are used again for each document.
final class IndexMaintainer {
  private struct Member {
    /// The index's place in its collection's list.
    let place: Int
    let state: IndexState
    var paths: [ResolvedPath]
    var rowDelta: Int64 = 0
    /// Rows added and removed.
    var changes: UInt64 = 0
  }

  /// The rows of one document, one for each index or none.
  private struct Rows {
    var keys = IndexKeyWriter()
    var ends: [Int] = []
    var values: [RowValue] = []

    mutating func removeAll() {
      keys.removeAll()
      ends.removeAll(keepingCapacity: true)
      values.removeAll(keepingCapacity: true)
    }

    /// The row's key in an index; empty when the document has none there.
    func withKey<R>(_ member: Int, _ body: (RawSpan) throws -> R) rethrows -> R {
      let bytes = keys.bytes
      let start = member == 0 ? 0 : ends[member - 1]
      return try body(bytes.rawBytes.extracting(start..<ends[member]))
    }
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

  /// Takes the rows of what stands under a number, before it changes; `nil` where no living document does.
  func readOld(_ record: RawSpan?, _ number: DocumentNumber, _ keys: KeyTable) throws(StoreError) {
    try read(record, number, keys, into: &old)
  }

  /// Takes the rows of what is to stand there.
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
        rows.values.append(
          try Self.appendRow(
            members[index].state, members[index].paths, RecordView(record), number, keys,
            to: &rows.keys))
      } else {
        rows.values.append(RowValue(valueBytes: 0, isCut: false))
      }
      rows.ends.append(rows.keys.bytes.count)
    }
  }

  /// Writes the key of a document's row.
  static func appendRow(
    _ index: IndexState, _ paths: [ResolvedPath], _ record: borrowing RecordView,
    _ number: DocumentNumber, _ keys: KeyTable, to writer: inout IndexKeyWriter
  ) throws(CodecError) -> RowValue {
    writer.append(index: UInt64(index.number))
    writer.beginValues()
    for field in paths.indices {
      try writer.write(
        record.value(at: paths[field]), descending: index.definition.fields[field].isDescending, keys)
    }
    let value = writer.endValues()
    writer.append(number)
    return value
  }

  /// Notes the differences between the old rows and the new ones.
  func apply(to buffer: inout IndexWriteBuffer) {
    for index in members.indices {
      old.withKey(index) { before in
        new.withKey(index) { after in
          guard !before.isEqual(to: after) else {
            // Numbers of one value but another kind have one key.
            if old.values[index] != new.values[index] {
              buffer.append(after, new.values[index], isRemoval: false)
            }
            return
          }
          if before.byteCount > 0 {
            buffer.append(before, old.values[index], isRemoval: true)
            members[index].rowDelta -= 1
            members[index].changes += 1
          }
          if after.byteCount > 0 {
            buffer.append(after, new.values[index], isRemoval: false)
            members[index].rowDelta += 1
            members[index].changes += 1
          }
        }
      }
    }
  }

  /// Takes the rows of a document off whose record is damaged, so that nobody can tell what they are.
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
  /// - Returns: Whether there is one whose statistics have just become too old, where so many rows are enough
  ///   for statistics.
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
