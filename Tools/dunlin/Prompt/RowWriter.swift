import CRDTCore

/// Takes the rows of one result as they come, and writes them.
protocol RowWriter {
  mutating func add(_ values: [TextKey: Value]) throws

  /// The last row has come.
  mutating func finish() throws
}

/// Rows as lines of JSON, with the columns in the order of the statement.
struct JSONRowWriter: RowWriter {
  private let columns: [TextKey]?
  private let write: ([UInt8]) throws -> Void
  private var out: [UInt8] = []

  /// - Parameters:
  ///   - columns: The columns by name; `nil` sorts those of each row.
  ///   - write: Takes what is to be written, in pieces of about 64 KiB.
  init(_ columns: [TextKey]?, to write: @escaping ([UInt8]) throws -> Void) {
    (self.columns, self.write) = (columns, write)
  }

  mutating func add(_ values: [TextKey: Value]) throws {
    if let columns {
      JSON.write(
        members: columns.compactMap { name in values[name].map { (name, $0) } }, to: &out)
    } else {
      JSON.write(.map(values), to: &out)
    }
    out.append(0x0A)
    if out.count > 64 << 10 { try flush() }
  }

  mutating func finish() throws { try flush() }

  private mutating func flush() throws {
    try write(out)
    out.removeAll(keepingCapacity: true)
  }
}

/// Rows as separated values (RFC 4180), with the columns of the statement as the header.
struct SeparatedRowWriter: RowWriter {
  private let columns: [TextKey]
  private let write: ([UInt8]) throws -> Void
  private var out: [UInt8] = []
  private var isBegun = false

  /// - Parameters:
  ///   - columns: The columns by name.
  ///   - write: Takes what is to be written, in pieces of about 64 KiB.
  init(_ columns: [TextKey], to write: @escaping ([UInt8]) throws -> Void) {
    (self.columns, self.write) = (columns, write)
  }

  mutating func add(_ values: [TextKey: Value]) throws {
    begin()
    record(columns.map { values[$0].map(Self.text) ?? "" })
    if out.count > 64 << 10 { try flush() }
  }

  mutating func finish() throws {
    begin()
    try flush()
  }

  private mutating func begin() {
    guard !isBegun, !columns.isEmpty else { return }
    isBegun = true
    record(columns.map(\.text))
  }

  private mutating func record(_ texts: [String]) {
    SeparatedRecord.write(
      texts.map { SeparatedCell(text: $0) }, delimiter: UInt8(ascii: ","), to: &out)
  }

  private mutating func flush() throws {
    try write(out)
    out.removeAll(keepingCapacity: true)
  }

  /// Strings as they are, nothing for null, everything else as JSON.
  private static func text(of value: Value) -> String {
    switch value {
    case .string(let text): text
    case .null: ""
    default: JSON.text(of: value)
    }
  }
}

/// Rows as a table that fits a terminal.
///
/// The first rows decide which columns it has and how wide they are; longer values are cut.
struct TableRowWriter: RowWriter {
  private struct Column {
    let name: TextKey
    var width: Int
    var isNumeric = true
    var isWanted = true
  }

  /// So many rows are looked at before the first is shown.
  static let layoutRows = 100
  /// No column is made narrower than that to make room for others.
  private static let leastWidth = 6
  private static let gap = 2

  private let names: [TextKey]?
  private let terminalWidth: Int
  private let write: ([UInt8]) throws -> Void
  private var waiting: [[TextKey: Value]] = []
  private var columns: [Column]?
  /// Fields of later rows that have no column.
  private var unseen: Set<TextKey> = []

  /// - Parameters:
  ///   - names: The columns by name; `nil` takes all that the first rows have, with `_id` before them.
  ///   - terminalWidth: The columns of the terminal.
  ///   - write: Takes what is to be written.
  init(_ names: [TextKey]?, terminalWidth: Int, to write: @escaping ([UInt8]) throws -> Void) {
    (self.names, self.terminalWidth, self.write) = (names, terminalWidth, write)
  }

  mutating func add(_ values: [TextKey: Value]) throws {
    if columns != nil {
      note(values)
      return try show([values])
    }
    waiting.append(values)
    if waiting.count == Self.layoutRows { try layOut() }
  }

  mutating func finish() throws {
    if columns == nil { try layOut() }
    var notes = (columns ?? []).filter { !$0.isWanted }.map(\.name)
    notes += unseen.sorted()
    guard !notes.isEmpty else { return }
    let listed =
      notes.prefix(6).map(\.text.printable).joined(separator: ", ") + (notes.count > 6 ? ", …" : "")
    try print(["(not shown: \(listed); name the columns, or use --json)"])
  }

  private mutating func note(_ values: [TextKey: Value]) {
    guard names == nil, unseen.count < 20 else { return }
    for name in values.keys where !(columns ?? []).contains(where: { $0.name == name }) {
      unseen.insert(name)
    }
  }

  private mutating func layOut() throws {
    let rows = waiting
    waiting = []
    guard !rows.isEmpty else { return }
    var all: [Column] = columnNames(rows).map { Column(name: $0, width: $0.text.printable.columns) }
    for row in rows {
      for index in all.indices {
        guard let value = row[all[index].name] else { continue }
        all[index].width = max(all[index].width, Self.text(of: value).columns)
        if !value.isNumber { all[index].isNumeric = false }
      }
    }
    columns = Self.fitting(all, into: terminalWidth)
    try print([
      line { $0.name.text.printable },
      line { String(repeating: "─", count: $0.width) },
    ])
    try show(rows)
  }

  private func columnNames(_ rows: [[TextKey: Value]]) -> [TextKey] {
    if let names { return names }
    let found = Set(rows.flatMap(\.keys))
    return (found.contains("_id") ? ["_id"] : []) + found.subtracting(["_id"]).sorted()
  }

  /// Narrows the widest columns until all fit; where all are narrow, the last ones are left out.
  private static func fitting(_ columns: [Column], into width: Int) -> [Column] {
    var columns = columns
    // A document is named by its whole id, so that is cut only where it alone takes most of the line.
    func keeps(_ column: Column) -> Bool { column.name == "_id" && column.width <= width / 2 }
    func total(_ most: Int) -> Int {
      let wanted = columns.filter(\.isWanted)
      return wanted.reduce(0) { $0 + (keeps($1) ? $1.width : min($1.width, most)) }
        + gap * max(0, wanted.count - 1)
    }
    while total(leastWidth) > width, let last = columns.lastIndex(where: \.isWanted), last > 0 {
      columns[last].isWanted = false
    }
    var most = columns.map(\.width).max() ?? 0
    while most > leastWidth, total(most) > width { most -= 1 }
    for index in columns.indices where !keeps(columns[index]) {
      columns[index].width = min(columns[index].width, most)
    }
    return columns
  }

  private func show(_ rows: [[TextKey: Value]]) throws {
    try print(rows.map { row in line { row[$0.name].map(Self.text) ?? "" } })
  }

  private func line(_ cell: (Column) -> String) -> String {
    let cells = (columns ?? []).filter(\.isWanted).map { column in
      cell(column).cut(toColumns: column.width).padded(toColumns: column.width, onLeft: column.isNumeric)
    }
    let text = cells.joined(separator: String(repeating: " ", count: Self.gap))
    return String(text.reversed().drop { $0 == " " }.reversed())
  }

  private func print(_ lines: [String]) throws {
    try write(Array((lines.joined(separator: "\n") + "\n").utf8))
  }

  /// A value as a cell shows it: strings as they are, everything else as JSON.
  private static func text(of value: Value) -> String {
    if case .string(let text) = value { return text.printable }
    return JSON.text(of: value).printable
  }
}

extension Value {
  fileprivate var isNumber: Bool {
    switch self {
    case .int, .double, .decimal, .counter, .null: true
    case .bool, .string, .bytes, .array, .map, .attachment: false
    }
  }
}
