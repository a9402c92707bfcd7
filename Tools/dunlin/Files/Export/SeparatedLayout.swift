import CRDTCore
import Foundation

/// The columns that documents take: a field each, and within maps a field of the map.
///
/// A column has the type of its values. If they have several types, or are arrays or empty maps, each is JSON
/// text. `_id` is one column, the first.
struct SeparatedLayout {
  /// More columns are refused: such documents make no table.
  static let mostColumns = 10_000

  private var kinds: [ColumnName: Set<ColumnType>] = [:]
  /// Values that are null, for which there is no cell.
  private(set) var nullCount = 0

  /// Takes note of a document.
  ///
  /// - Throws: A `ToolError` when there are too many columns.
  mutating func note(_ fields: [TextKey: Value]) throws {
    Self.forEachLeaf(fields) { path, value in
      if case .null = value {
        nullCount += 1
        kinds[ColumnName(path: path), default: []].formUnion([])
      } else {
        kinds[ColumnName(path: path), default: []].insert(Self.type(of: value))
      }
    }
    guard kinds.count <= Self.mostColumns else {
      throw ToolError(
        "the documents have more than \(Self.mostColumns.groupedDigits) fields, too many for columns: export them as jsonl"
      )
    }
  }

  /// The columns in the order of the file.
  var columns: [(name: ColumnName, type: ColumnType)] {
    let id = ColumnName(path: ["_id"])
    let names = kinds.keys.sorted { a, b in a == id ? b != id : b == id ? false : a < b }
    return names.map { name in
      let types = kinds[name] ?? []
      return (name, types.isEmpty ? .string : types.count == 1 ? types.first ?? .json : .json)
    }
  }

  /// The types as `--types` takes them.
  var types: ColumnTypes {
    var types = ColumnTypes()
    for column in columns { types.types[column.name] = column.type }
    return types
  }

  private static func type(of value: Value) -> ColumnType {
    switch value {
    case .string, .decimal: .string
    case .int: .int
    case .double: .double
    case .bool: .bool
    case .counter: .counter
    case .bytes: .bytes
    case .null, .array, .map, .attachment: .json
    }
  }

  /// Calls `body` with each value that has a column of its own, and its path.
  static func forEachLeaf(_ fields: [TextKey: Value], _ body: ([TextKey], Value) -> Void) {
    func visit(_ value: Value, _ path: [TextKey]) {
      if case .map(let inner) = value, !inner.isEmpty, path != ["_id"] {
        for (key, value) in inner { visit(value, path + [key]) }
      } else {
        body(path, value)
      }
    }
    for (key, value) in fields { visit(value, [key]) }
  }
}

/// Records of separated values (RFC 4180), with a header.
struct SeparatedWriter: DocumentWriter {
  private let columns: [(name: ColumnName, type: ColumnType)]
  private let places: [ColumnName: Int]
  private let delimiter: UInt8
  private let isLossless: Bool

  /// - Parameters:
  ///   - layout: The columns of all documents to come.
  ///   - delimiter: What stands between two values.
  ///   - isLossless: Whether JSON in a column has tags.
  init(_ layout: SeparatedLayout, delimiter: UInt8, isLossless: Bool) {
    columns = layout.columns
    places = Dictionary(columns.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
    (self.delimiter, self.isLossless) = (delimiter, isLossless)
  }

  func begin(_ bytes: inout [UInt8]) {
    let names = columns.map { column in
      // An import leaves out spaces around a name that is not in quotes.
      let name = column.name.text
      let isPlain = !name.isEmpty && name == name.trimmingCharacters(in: .whitespaces)
      return SeparatedCell(text: name, isQuoted: !isPlain)
    }
    SeparatedRecord.write(names, delimiter: delimiter, to: &bytes)
  }

  func write(_ fields: [TextKey: Value], to bytes: inout [UInt8]) {
    var cells = [SeparatedCell](repeating: SeparatedCell(text: ""), count: columns.count)
    SeparatedLayout.forEachLeaf(fields) { path, value in
      guard let place = places[ColumnName(path: path)] else { return }
      cells[place] = cell(value, columns[place].type)
    }
    SeparatedRecord.write(cells, delimiter: delimiter, to: &bytes)
  }

  func end(_ bytes: inout [UInt8]) {}

  private func cell(_ value: Value, _ type: ColumnType) -> SeparatedCell {
    switch (value, type) {
    case (.null, _): return SeparatedCell(text: "")
    case (.string(let text), .string): return Self.text(text)
    case (.decimal(let number), .string): return Self.text(number.text)
    case (.int(let number), .int), (.counter(let number), .counter): return SeparatedCell(text: "\(number)")
    case (.double(let number), .double): return SeparatedCell(text: number.description)
    case (.bool(let flag), .bool): return SeparatedCell(text: "\(flag)")
    case (.bytes(let bytes), .bytes): return SeparatedCell(text: JSON.base64(bytes), isQuoted: bytes.isEmpty)
    default: return SeparatedCell(text: JSON.text(of: value, options: .init(isLossless: isLossless)))
    }
  }

  /// A text in quotes where it would else be taken for nothing, or for something that it is not.
  private static func text(_ text: String) -> SeparatedCell {
    let plain = SeparatedCell(text: text)
    let isClear = !plain.isMissing && ColumnDetection.kind(of: plain) == .string
    return SeparatedCell(text: text, isQuoted: !isClear)
  }
}
