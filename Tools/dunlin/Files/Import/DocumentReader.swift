import CRDTCore

/// How a file with documents is to be read.
struct ReadingOptions: Sendable {
  /// `nil` goes by the file's name; where that says nothing, JSON Lines.
  var format: FileFormat?
  /// In place of the format's own.
  var delimiter: UInt8?
  /// The columns of a file whose first record is none of their names.
  var columns: [ColumnName]?
  var types = ColumnTypes()
  /// Whether maps such as `{"$counter":1}` stand for values that JSON has no type for.
  var interpretsTags = true
  /// Records and bytes of them that types of columns are found out from.
  var sampleCount = 1_000
  var sampleBytes = 4 << 20
}

/// The types that the columns of a file are read with.
struct ReadTypes: Sendable {
  /// Each column as `--types` takes it, in the order of the file.
  let columns: [String]
  /// Whether some of the types were found out from the first records, and not given.
  let areDetected: Bool
  /// As many columns are told to people.
  private static let mostTold = 50

  /// All of them, as `--types` takes them.
  var argument: String { columns.joined(separator: ",") }

  /// A line for people; `nil` where all types were given.
  var note: String? {
    guard areDetected else { return nil }
    let rest = columns.count - Self.mostTold
    let told = columns.prefix(Self.mostTold).joined(separator: ",")
    return "types: \(told)\(rest > 0 ? " and \(rest.groupedDigits) more" : "")"
  }
}

/// What a record of a file comes to.
enum DocumentForm {
  /// The names of the columns: no document.
  case header
  /// The record is the JSON text of a document.
  case text
  case fields([TextKey: Value])
  /// No document, and why not: one sentence without a full stop.
  case bad(String)
}

/// Reads the documents of a file, record by record, whatever its format.
///
/// Types of columns are found out from the first records, which are kept meanwhile and handed out afterwards.
struct DocumentReader {
  /// Gets each record: the line it begins in, its bytes in the file, and what it comes to.
  typealias Body = (_ line: Int, _ record: RawSpan, _ form: DocumentForm) throws -> Void

  private enum Stage {
    /// Nothing of the file is known.
    case start
    /// Each record is a JSON text.
    case texts
    case header(UInt8)
    case sampling(UInt8, [ColumnName], RecordList)
    case columns(SeparatedDecoder)
  }

  private var stage = Stage.start
  private var cutter: any RecordCutter = JSONLines()
  private let path: String
  private let options: ReadingOptions

  /// Begins to read a file, whose path may say the format.
  init(path: String, _ options: ReadingOptions) { (self.path, self.options) = (path, options) }

  /// The format that a file is read as, as far as its name and the options say it.
  static func format(of path: String, _ options: ReadingOptions) -> FileFormat {
    options.format ?? (options.delimiter == nil ? FileFormat(path: path) ?? .jsonl : .csv)
  }

  /// The line that is next.
  var lineNumber: Int { cutter.lineNumber }

  /// What is to be told when all has been read.
  var notes: [String] { if case .columns(let decoder) = stage { decoder.notes } else { [] } }

  /// The types of the columns, once they are known; `nil` for a file without columns.
  var types: ReadTypes? { if case .columns(let decoder) = stage { decoder.types } else { nil } }

  /// Takes the file's next bytes.
  ///
  /// - Throws: A ``CuttingError`` or a `JSONError` when the rest of the file cannot be read; what `body`
  ///   throws.
  mutating func append(_ chunk: RawSpan, _ body: Body) throws {
    if case .start = stage { try begin(chunk) }
    var cutter = exchange(&self.cutter, with: JSONLines())
    defer { self.cutter = cutter }
    try cutter.append(chunk) { line, record in try take(line, record, body) }
  }

  /// Ends the file.
  mutating func finish(_ body: Body) throws {
    if case .start = stage {
      let nothing: [UInt8] = []
      try begin(nothing.span.bytes)
    }
    var cutter = exchange(&self.cutter, with: JSONLines())
    defer { self.cutter = cutter }
    try cutter.finish { line, record in try take(line, record, body) }
    try endSampling(body)
  }

  /// Settles the format by the first bytes that are no space.
  private mutating func begin(_ chunk: RawSpan) throws {
    let format = Self.format(of: path, options)
    switch format {
    case .jsonl: (cutter, stage) = (JSONLines(), .texts)
    case .json where options.format == nil:
      // Many files of this name hold lines: their first byte says so. What is asked for is taken at its word.
      guard let first = Self.firstByte(of: chunk) else { return }
      cutter = first == UInt8(ascii: "[") ? JSONArrayCutter() : JSONLines()
      stage = .texts
    case .json: (cutter, stage) = (JSONArrayCutter(), .texts)
    case .csv, .tsv:
      let delimiter = options.delimiter ?? format.delimiter ?? UInt8(ascii: ",")
      cutter = SeparatedCutter(delimiter: delimiter)
      if let columns = options.columns {
        try checkTypes(columns)
        stage = .sampling(delimiter, columns, RecordList())
      } else {
        stage = .header(delimiter)
      }
    }
  }

  /// The first byte that is neither space nor of a byte order mark.
  private static func firstByte(of chunk: RawSpan) -> UInt8? {
    for offset in 0..<chunk.byteCount where !isSpaceOrMark(chunk[offset]) { return chunk[offset] }
    return nil
  }

  private static func isSpaceOrMark(_ byte: UInt8) -> Bool {
    [0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF].contains(byte)
  }

  private mutating func take(_ line: Int, _ record: RawSpan, _ body: Body) throws {
    switch stage {
    case .start, .texts: try body(line, record, .text)
    case .header(let delimiter):
      if options.delimiter == nil,
        let separator = SeparatedRecord.separator(of: record, insteadOf: delimiter)
      {
        throw CuttingError(line: line, message: Self.hint(separator, insteadOf: delimiter))
      }
      do {
        let names = try SeparatedDecoder.names(of: SeparatedRecord.cells(record, delimiter: delimiter))
        try checkTypes(names)
        stage = .sampling(delimiter, names, RecordList())
      } catch let error as SeparatedRecord.Malformed {
        throw CuttingError(line: line, message: error.message)
      } catch {
        throw CuttingError(line: line, message: "\(error)")
      }
      try body(line, record, .header)
    case .sampling(let delimiter, let names, var sample):
      stage = .start
      sample.append(record, line: line)
      stage = .sampling(delimiter, names, sample)
      if sample.count >= options.sampleCount || sample.byteCount >= options.sampleBytes {
        try endSampling(body)
      }
    case .columns(var decoder):
      defer { stage = .columns(decoder) }
      try Self.decode(&decoder, line, record, body)
    }
  }

  /// What to do about a header whose columns another character separates.
  private static func hint(_ separator: UInt8, insteadOf delimiter: UInt8) -> String {
    func name(_ byte: UInt8) -> String {
      byte == UInt8(ascii: "\t") ? "tabs" : "'\(Character(UnicodeScalar(byte)))'"
    }
    let option =
      switch FileFormat.allCases.first(where: { $0.delimiter == separator }) {
      case let format?: "--format \(format.rawValue)"
      case nil: "--delimiter \(name(separator))"
      }
    let own = delimiter == UInt8(ascii: "\t") ? "'\\t'" : name(delimiter)
    return
      "the header has \(name(separator)) between its columns, and no \(name(delimiter)): say \(option), or --delimiter \(own) if the header is one name"
  }

  /// Settles the types of columns, and hands out the records that are kept.
  private mutating func endSampling(_ body: Body) throws {
    guard case .sampling(let delimiter, let names, let sample) = stage else { return }
    var records: [[SeparatedCell]] = []
    sample.forEach { _, _, record in
      if let cells = try? SeparatedRecord.cells(record, delimiter: delimiter) { records.append(cells) }
    }
    var decoder = SeparatedDecoder(
      names, types: options.types, sample: records, delimiter: delimiter,
      interpretsTags: options.interpretsTags)
    defer { stage = .columns(decoder) }
    try sample.forEach { _, line, record in try Self.decode(&decoder, line, record, body) }
  }

  private static func decode(
    _ decoder: inout SeparatedDecoder, _ line: Int, _ record: RawSpan, _ body: Body
  ) throws {
    let form: DocumentForm
    do {
      form = .fields(try decoder.document(of: record, line: line))
    } catch {
      form = .bad("\(error)")
    }
    try body(line, record, form)
  }

  private func checkTypes(_ names: [ColumnName]) throws {
    guard let unknown = options.types.types.keys.filter({ !names.contains($0) }).min() else { return }
    throw ToolError("--types names the column \(unknown.text), which is not there")
  }
}
