import BenchmarkSupport

/// Whose queries are compared.
enum QueryContenderName: String, Codable, CaseIterable, ContenderTitle {
  /// Loops over LMDB from C that search the documents' texts.
  case lmdb
  /// SQLite through GRDB: a column of JSON, and the same indexes over its JSON functions.
  case sqlite
  /// Dunlin, with statements that are parsed once.
  case prepared
  /// Dunlin, from the statement's text each time.
  case dunlin

  var title: String {
    switch self {
    case .lmdb: "raw LMDB"
    case .sqlite: "SQLite"
    case .prepared: "Dunlin prepared"
    case .dunlin: "Dunlin"
    }
  }

  /// Which contender's files it reads.
  var filler: QueryContenderName { self == .prepared ? .dunlin : self }
}

/// A collection to fill, and the fields of its indexes.
struct FilledCollection: Codable {
  var name: String
  var corpus: String
  var indexes: [[String]] = []
}

/// A store that answers questions.
protocol QueryContender {
  init(directory: String, prepares: Bool) throws
  func fill(_ collection: FilledCollection) throws
  /// What only a full store can do: gather statistics.
  func finish() throws
  /// Runs the query and takes what it hands out; `nil` when it cannot ask this.
  func run(_ query: BenchmarkQuery, id: String) throws -> Int?
  /// The rows as text, the columns that are compared; `nil` when it cannot say.
  func answer(_ query: BenchmarkQuery, id: String) throws -> [String]?
  func close() throws
}

/// One way to write a value, whatever store it comes from.
enum Answer {
  static func number(_ value: Double) -> String {
    value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
  }

  static func row(_ columns: [String]) -> String { columns.joined(separator: "\u{1F}") }

  /// How many rows there are, and a checksum of them, in their order or in any.
  static func summary(_ rows: [String], isOrdered: Bool) -> String {
    let rows = isOrdered ? rows : rows.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    var checksum = Checksum()
    for row in rows { checksum.add(Array(row.utf8) + [10]) }
    return "\(rows.count) rows, \(String(checksum.value, radix: 16))"
  }
}
