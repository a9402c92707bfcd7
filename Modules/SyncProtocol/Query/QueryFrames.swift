public import CRDTCore

/// The limits of a statement that another peer runs; the lower limits of both peers apply.
public struct RemoteQueryLimits: Hashable, Sendable {
  /// How long the other peer may take.
  public var time: Duration
  /// The maximum number of rows in the answer.
  public var rows: Int
  /// The maximum bytes of the answer.
  public var bytes: Int

  /// Creates limits; the defaults are what a peer grants.
  public init(time: Duration = .seconds(30), rows: Int = 10_000, bytes: Int = 16 << 20) {
    self.time = time
    self.rows = rows
    self.bytes = bytes
  }

  /// Returns the lower value of each limit.
  func lesser(_ other: RemoteQueryLimits) -> RemoteQueryLimits {
    RemoteQueryLimits(
      time: min(time, other.time), rows: min(rows, other.rows), bytes: min(bytes, other.bytes))
  }
}

/// A statement for the other peer to run: a SELECT, or EXPLAIN of one.
public struct QueryQuestion: Hashable, Sendable {
  @TextKey package private(set) var text: String
  package let arguments: [TextKey: Value]
  package private(set) var limits: RemoteQueryLimits

  /// Creates a question; the other peer parses it.
  ///
  /// - Parameters:
  ///   - text: The statement, at most 16 KiB.
  ///   - arguments: The values of its parameters, at most 64 KiB encoded.
  ///   - limits: The limits of the answer; the lower ones of these and the other peer's apply.
  /// - Throws: `limit` if the text or the arguments are too long.
  public init(
    _ text: String, arguments: [TextKey: Value] = [:], limits: RemoteQueryLimits = RemoteQueryLimits()
  ) throws(RemoteQueryError) {
    self.text = text
    self.arguments = arguments
    self.limits = RemoteQueryLimits(
      time: max(limits.time, .zero), rows: max(limits.rows, 0), bytes: max(limits.bytes, 0))
    guard text.utf8.count <= SyncLimits.statementBytes else {
      throw RemoteQueryError(
        .limit, "a statement for another peer has at most \(SyncLimits.statementBytes) bytes")
    }
    var out = ByteWriter()
    encodeArguments(to: &out)
    guard out.count <= SyncLimits.statementArgumentBytes else {
      throw RemoteQueryError(
        .limit, "the arguments for another peer take more than \(SyncLimits.statementArgumentBytes) bytes")
    }
  }

  /// Returns the same question with other limits.
  func within(_ limits: RemoteQueryLimits) -> QueryQuestion {
    var copy = self
    copy.limits = limits
    return copy
  }

  package func encode(to out: inout ByteWriter) {
    out.writeString(text)
    encodeArguments(to: &out)
    out.writeVarint(UInt64(limits.time.milliseconds))
    out.writeVarint(UInt64(limits.rows))
    out.writeVarint(UInt64(limits.bytes))
  }

  private func encodeArguments(to out: inout ByteWriter) {
    out.writeVarint(arguments.count)
    for (name, value) in arguments.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
      out.writeString(name.text)
      ValueCodec.write(value, to: &out)
    }
  }

  package init(from reader: inout ByteReader) throws(CodecError) {
    text = try reader.readString(limit: SyncLimits.statementBytes)
    let start = reader.offset
    var arguments: [TextKey: Value] = [:]
    var previous: String?
    for _ in 0..<(try reader.readCount(minimumBytes: 2)) {
      let name = try reader.readString()
      if let previous, !previous.utf8.lexicographicallyPrecedes(name.utf8) {
        throw CodecError(.malformed, "the arguments of a statement are not in ascending order", at: start)
      }
      previous = name
      arguments[name] = try ValueCodec.read(&reader, depth: -1)
    }
    guard reader.offset - start <= SyncLimits.statementArgumentBytes else {
      throw CodecError(.limit, "the arguments of a statement are too long", at: start)
    }
    self.arguments = arguments
    let milliseconds = try reader.readVarint()
    limits = RemoteQueryLimits(
      time: .milliseconds(Int64(clamping: min(milliseconds, 1 << 40))),
      rows: Int(clamping: try reader.readVarint()), bytes: Int(clamping: try reader.readVarint()))
  }
}

/// One row of another peer's answer.
public struct QueryRow: Hashable, Sendable {
  /// The document that the row represents, if there is one.
  public let id: DocumentID?
  /// The columns by name.
  public let values: [TextKey: Value]
  /// The row's bytes in the answer; pass the sum over all processed rows to `Session.consumedRows`.
  public let byteCount: Int

  /// Writes a row as a blob: the id (empty if there is none), then the columns as one canonical map.
  static func encode(_ id: DocumentID?, _ values: [TextKey: Value], to out: inout ByteWriter) {
    var row = ByteWriter()
    row.writeBlob(id?.bytes ?? [])
    ValueCodec.write(.map(values), to: &row)
    out.writeBlob(row.bytes)
  }

  /// Decodes a row; `byteCount` includes its length prefix.
  init(_ content: RawSpan, byteCount: Int) throws(CodecError) {
    var reader = ByteReader(content)
    let id = try reader.readBlob()
    self.id = try id.byteCount == 0 ? nil : DocumentID(validating: id)
    guard case .map(let values) = try ValueCodec.read(&reader, depth: 1 - Limits.expressionDepth) else {
      throw reader.failure(.malformed, "a row is not a map")
    }
    try reader.expectEnd()
    self.values = values
    self.byteCount = byteCount
  }
}

/// How another peer's answer ended.
public struct QueryEnd: Hashable, Sendable {
  /// What went wrong; `nil` when the answer is complete.
  public let error: RemoteQueryError?
  /// The number of rows in the answer.
  public let rows: Int
  /// How long the other peer took.
  public let time: Duration

  package init(error: RemoteQueryError?, rows: Int, time: Duration) {
    self.error = error
    self.rows = rows
    self.time = time
  }

  package func encode(to out: inout ByteWriter) {
    out.writeString(error?.code.rawValue ?? "")
    out.writeString(error?.message ?? "")
    out.writeVarint(UInt64(rows))
    out.writeVarint(UInt64(time.milliseconds))
  }

  package init(from reader: inout ByteReader) throws(CodecError) {
    let code = try reader.readString(limit: SyncLimits.errorCodeBytes)
    let message = try reader.readString(limit: SyncLimits.errorMessageBytes)
    error = code.isEmpty ? nil : RemoteQueryError(RemoteQueryError.Code(rawValue: code), message)
    rows = Int(clamping: try reader.readVarint())
    time = .milliseconds(Int64(clamping: min(try reader.readVarint(), 1 << 40)))
  }
}

/// Why another peer's answer is incomplete.
public struct RemoteQueryError: CodedError, Hashable, CustomStringConvertible {
  /// What went wrong: one of the codes of queries, or one of these.
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// The other peer does not run statements for others.
    public static let denied = Code(rawValue: "denied")
    /// More rows or bytes than one of the peers allows, or too many concurrent statements.
    public static let limit = Code(rawValue: "limit")
    /// The statement took longer than one of the peers allows.
    public static let timeout = Code(rawValue: "timeout")
    /// Not a SELECT, or a SELECT from a system collection.
    public static let unsupported = Code(rawValue: "unsupported")
    /// The statement was cancelled before it was done.
    public static let cancelled = Code(rawValue: "cancelled")
    /// The other peer's store failed.
    public static let storage = Code(rawValue: "io")
    /// The connection has ended, or there is none.
    public static let closed = Code(rawValue: "closed")
  }

  public let code: Code
  /// One sentence without a full stop; never a document's contents.
  public let message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { "\(message) (\(code.rawValue))" }
}

extension Duration {
  /// Whole milliseconds; 0 for a negative duration.
  var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, seconds < 1 << 40 else { return seconds < 0 ? 0 : 1 << 50 }
    return seconds * 1_000 + attoseconds / 1_000_000_000_000_000
  }
}
