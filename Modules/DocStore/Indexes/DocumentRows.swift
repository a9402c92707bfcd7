import CRDTCore

/// Rows of documents in indexes, one after the other.
struct DocumentRows {
  private var keys = IndexKeyWriter()
  private var ends: [Int] = []
  private(set) var values: [RowValue] = []
  /// The elements of one array.
  private var elements: [Element] = []

  private struct Element {
    let key: [UInt8]
    let value: RowValue
  }

  var count: Int { ends.count }
  var keyBytes: Int { keys.bytes.count }

  mutating func removeAll() {
    keys.removeAll()
    ends.removeAll(keepingCapacity: true)
    values.removeAll(keepingCapacity: true)
  }

  func withKey<R>(_ row: Int, _ body: (RawSpan) throws -> R) rethrows -> R {
    let bytes = keys.bytes
    let start = row == 0 ? 0 : ends[row - 1]
    return try body(bytes.rawBytes.extracting(start..<ends[row]))
  }

  /// Appends the rows of a living document in one index, in the order of their keys.
  ///
  /// There is one row. In an index of elements there is one for each distinct element, and none without
  /// elements.
  mutating func append(
    _ index: IndexState, _ paths: [ResolvedPath], _ record: borrowing RecordView,
    _ number: DocumentNumber, _ names: KeyTable
  ) throws(CodecError) {
    let fields = index.definition.fields
    guard let place = fields.firstIndex(where: { $0.part == .elements }) else {
      values.append(try keys.appendRow(index, paths, record, number, names, element: nil))
      return ends.append(keys.bytes.count)
    }
    elements.removeAll(keepingCapacity: true)
    var scratch = IndexKeyWriter()
    for element in try record.value(at: paths[place])?.materialize(names).elements ?? [] {
      scratch.removeAll()
      let value = try scratch.appendRow(index, paths, record, number, names, element: element)
      elements.append(Element(key: scratch.bytes, value: value))
    }
    elements.sort { left, right in
      let order = left.key.rawBytes.compare(right.key.rawBytes)
      return order != 0 ? order < 0 : left.value.numberKinds < right.value.numberKinds
    }
    for (place, element) in elements.enumerated() {
      if place > 0, element.key == elements[place - 1].key { continue }
      keys.append(element.key)
      values.append(element.value)
      ends.append(keys.bytes.count)
    }
  }
}

extension IndexKeyWriter {
  /// Writes the key of a document's row; `element` replaces the array that contains it.
  fileprivate mutating func appendRow(
    _ index: IndexState, _ paths: [ResolvedPath], _ record: borrowing RecordView,
    _ number: DocumentNumber, _ names: KeyTable, element: Value?
  ) throws(CodecError) -> RowValue {
    append(index: UInt64(index.number))
    beginValues()
    for (place, field) in index.definition.fields.enumerated() {
      switch field.part {
      case .value: try write(record.value(at: paths[place]), descending: field.isDescending, names)
      case .lowercase:
        write(record.value(at: paths[place])?.lowercased, descending: field.isDescending)
      case .elements: write(element, descending: field.isDescending)
      }
    }
    let value = endValues()
    append(number)
    return value
  }
}

extension Value {
  /// The elements for which an index of elements has rows.
  fileprivate var elements: [Value] {
    switch self {
    case .array(let elements): elements
    case .map(let members): Array(members.values)
    case .null, .bool, .int, .double, .string, .bytes, .counter, .attachment, .decimal: []
    }
  }
}

extension ValueRef {
  /// The result of `lower()` for the value; `nil` is MISSING.
  fileprivate var lowercased: Value? {
    switch kind {
    case .string:
      .string(unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }.lowercased())
    case .null: .null
    case .bool, .int, .double, .bytes, .counter, .array, .map, .attachment: nil
    }
  }
}
