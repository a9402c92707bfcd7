import CRDTCore
import Foundation

/// Makes documents of the records of a file with columns.
struct SeparatedDecoder {
  /// A column and what its values are.
  private struct Column {
    let name: ColumnName
    let type: ColumnType
    /// Whether the type was found out from the first records, and not given.
    let isDetected: Bool
    /// Values that are text since they are not of the type that was found out, and the line of the first.
    var misfits: (count: Int, line: Int) = (0, 0)
  }

  private var columns: [Column]
  private let delimiter: UInt8
  private let interpretsTags: Bool
  private let hasNested: Bool

  /// Takes the columns of a file.
  ///
  /// - Parameters:
  ///   - names: The columns in their order.
  ///   - types: The types that are given; those of other columns are found out.
  ///   - sample: The file's first records.
  ///   - delimiter: What stands between two values.
  ///   - interpretsTags: Whether JSON in columns of JSON may have tags.
  init(
    _ names: [ColumnName], types: ColumnTypes, sample: [[SeparatedCell]], delimiter: UInt8,
    interpretsTags: Bool
  ) {
    columns = names.enumerated().map { index, name in
      if let type = types.types[name] { return Column(name: name, type: type, isDetected: false) }
      var detection = ColumnDetection()
      for record in sample where record.count == names.count { detection.note(record[index]) }
      return Column(name: name, type: detection.type, isDetected: true)
    }
    self.delimiter = delimiter
    self.interpretsTags = interpretsTags
    hasNested = names.contains { $0.path.count > 1 }
  }

  /// The names of a header's columns.
  ///
  /// Spaces around a name are left out, since they only align it. A name in quotes keeps them.
  /// - Throws: A `ToolError` for a column without a name, and for two of one name.
  static func names(of header: [SeparatedCell]) throws -> [ColumnName] {
    var known: Set<ColumnName> = []
    return try header.enumerated().map { index, cell in
      let text = cell.isQuoted ? cell.text : cell.text.trimmingCharacters(in: .whitespaces)
      guard cell.isQuoted || !text.isEmpty else {
        throw ToolError("column \(index + 1) of the header has no name")
      }
      let name = ColumnName(text)
      guard known.insert(name).inserted else { throw ToolError("two columns have the name \(text)") }
      return name
    }
  }

  /// The columns in their order, each with the type that was given or found out.
  var types: ReadTypes {
    ReadTypes(
      columns: columns.map { "\($0.name.argument):\($0.type.rawValue)" },
      areDetected: columns.contains(where: \.isDetected))
  }

  /// The document of a record.
  ///
  /// - Throws: A `ToolError` that says what is wrong, and in which column.
  mutating func document(of record: RawSpan, line: Int) throws -> [TextKey: Value] {
    let cells: [SeparatedCell]
    do {
      cells = try SeparatedRecord.cells(record, delimiter: delimiter)
    } catch {
      throw ToolError(error.message)
    }
    guard cells.count == columns.count else {
      throw ToolError("\(cells.count.counting("column")), where the header has \(columns.count)")
    }
    var fields: [TextKey: Value] = [:]
    for (index, cell) in cells.enumerated() {
      guard let value = try value(of: cell, column: index, line: line) else { continue }
      let path = columns[index].name.path
      guard path.count > 1 else {
        guard fields.updateValue(value, forKey: path[0]) == nil else { throw twofold(index) }
        continue
      }
      guard path.count <= Limits.pathSteps, Self.set(value, at: path[...], in: &fields) else {
        throw twofold(index)
      }
    }
    return fields
  }

  private func twofold(_ column: Int) -> ToolError {
    ToolError("column \(columns[column].name.text): another column has a value for the same field")
  }

  private mutating func value(of cell: SeparatedCell, column index: Int, line: Int) throws -> Value? {
    let column = columns[index]
    guard column.isDetected else {
      do {
        return try column.type.value(of: cell, interpretsTags: interpretsTags)
      } catch {
        throw ToolError("column \(column.name.text): \(error)")
      }
    }
    if cell.isMissing { return nil }
    switch (column.type, ColumnDetection.kind(of: cell)) {
    case (.int, .int), (.bool, .bool): return try column.type.value(of: cell)
    case (.double, .int):
      guard let whole = Int64(cell.text), let number = Double(exactly: whole) else {
        return try ColumnType.int.value(of: cell)
      }
      return .double(number)
    case (.int, .double), (.double, .double): return try ColumnType.double.value(of: cell)
    case (.string, _): return .string(cell.text)
    default:
      if column.misfits.count == 0 { columns[index].misfits.line = line }
      columns[index].misfits.count += 1
      return .string(cell.text)
    }
  }

  /// Puts a value into maps within maps; `false` where something stands there already.
  private static func set(_ value: Value, at path: ArraySlice<TextKey>, in fields: inout [TextKey: Value])
    -> Bool
  {
    guard let first = path.first else { return false }
    guard path.count > 1 else { return fields.updateValue(value, forKey: first) == nil }
    var inner: [TextKey: Value] = [:]
    switch fields[first] {
    case nil: break
    case .map(let found)?: inner = found
    default: return false
    }
    fields[first] = .null
    defer { fields[first] = .map(inner) }
    return set(value, at: path.dropFirst(), in: &inner)
  }

  /// What is to be told of columns whose later values are not what the first ones were.
  var notes: [String] {
    columns.filter { $0.misfits.count > 0 }.map { column in
      let count = column.misfits.count.counting("value is", "values are")
      return
        "column \(column.name.text): \(count) text, since the first ones were of type \(column.type.rawValue) (first in line \(column.misfits.line)); --types \(column.name.argument):string makes all of them text"
    }
  }
}
