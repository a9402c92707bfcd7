import CRDTCore

/// The documents that a transaction, or some of its groups, changed: an entry of the store's log.
struct LogRecord {
  let head: LogHead
  /// The written documents, by number; empty in a record of evictions.
  var runs: [LogRun] = []
  /// The evicted documents, as far as they are listed.
  var evicted: [DocumentKey] = []
  /// Whether all evicted documents are listed.
  var isComplete = true

  /// The greatest number among the members.
  ///
  /// Compare it with the greatest number that the store has given before you visit the members: a damaged
  /// record could name more numbers than anybody can visit.
  var lastMember: DocumentNumber { DocumentNumber(runs.reduce(0) { max($0, $1.numbers.upperBound) }) }

  // MARK: - Writing

  static func encode(_ head: LogHead, runs: [LogRun]) -> [UInt8] {
    var writer = ByteWriter(capacity: 32 + runs.count * 3)
    head.write(to: &writer)
    var start = 0
    while start < runs.count {
      let collection = runs[start].collection
      let end = runs[start...].firstIndex { $0.collection != collection } ?? runs.count
      writer.writeVarint(UInt64(collection))
      writer.writeVarint(end - start)
      var last: UInt64 = 0
      for run in runs[start..<end] {
        let more = run.numbers.upperBound - run.numbers.lowerBound
        writer.writeVarint((run.numbers.lowerBound - last) << 1 | (more > 0 ? 1 : 0))
        if more > 0 { writer.writeVarint(more) }
        last = run.numbers.upperBound
      }
      start = end
    }
    return writer.bytes
  }

  static func encode(_ head: LogHead, evicted: [DocumentKey], isComplete: Bool) -> [UInt8] {
    var writer = ByteWriter(capacity: 32 + evicted.count * 16)
    head.write(to: &writer)
    writer.write(isComplete ? 0 as UInt8 : 1)
    for key in evicted {
      writer.writeVarint(UInt64(key.collection))
      writer.writeBlob(key.id.bytes)
    }
    return writer.bytes
  }

  // MARK: - Reading

  /// The head of a stored record; `nil` if it is damaged.
  static func head(_ stored: RawSpan, at key: RawSpan) -> LogHead? {
    guard let value = try? SmallRecord.open(stored, at: key, table: "log") else { return nil }
    var reader = ByteReader(value.rawBytes)
    return try? LogHead(from: &reader)
  }

  init(_ bytes: RawSpan, kind: LogKind) throws(CodecError) {
    var reader = ByteReader(bytes)
    head = try LogHead(from: &reader)
    switch kind {
    case .bound, .loose: try readRuns(&reader)
    case .evicted: try readEvicted(&reader)
    }
  }

  private mutating func readRuns(_ reader: inout ByteReader) throws(CodecError) {
    while reader.remaining > 0 {
      guard let collection = UInt32(exactly: try reader.readVarint()),
        runs.last.map({ collection > $0.collection }) ?? true
      else {
        throw reader.failure(.malformed, "the numbers of a record's collections do not rise")
      }
      let count = try reader.readCount()
      guard count > 0 else { throw reader.failure(.malformed, "a record names a collection for nothing") }
      runs.reserveCapacity(runs.count + count)
      var last: UInt64 = 0
      for _ in 0..<count {
        let numbers = try Self.run(&reader, after: last)
        last = numbers.upperBound
        runs.append(LogRun(collection: collection, numbers: numbers))
      }
    }
  }

  private static func run(
    _ reader: inout ByteReader, after last: UInt64
  ) throws(CodecError) -> ClosedRange<UInt64> {
    let head = try reader.readVarint()
    let more = head & 1 == 1 ? try reader.readVarint() : 0
    let maximum = DocumentNumber.maximum.rawValue
    // Adjacent runs are stored as one run; the first run may begin with number 1.
    let isApart = head >> 1 > (last == 0 ? 0 : 1)
    guard isApart, head >> 1 <= maximum - last, head & 1 == 0 || more > 0,
      more <= maximum - last - head >> 1
    else {
      throw reader.failure(.malformed, "the numbers of a record's documents do not rise")
    }
    let first = last + head >> 1
    return first...first + more
  }

  private mutating func readEvicted(_ reader: inout ByteReader) throws(CodecError) {
    let flag = try reader.readByte()
    guard flag <= 1 else { throw reader.failure(.malformed, "a record of evictions has an unknown flag") }
    isComplete = flag == 0
    while reader.remaining > 0 {
      guard let collection = UInt32(exactly: try reader.readVarint()) else {
        throw reader.failure(.malformed, "a collection's number is too great")
      }
      let bytes = try reader.readBlob()
      guard let id = try? DocumentID(validating: bytes) else {
        throw reader.failure(.malformed, "an evicted document's id is none")
      }
      evicted.append(DocumentKey(collection: collection, id: id))
    }
  }
}

/// The head of every entry of the log.
struct LogHead {
  /// The lived time of the commit.
  let time: UInt64
  /// The low word of the commit's id.
  let commitCheck: UInt32
  let origin: LogOrigin
  /// The greatest number that any document had at that time.
  let lastNumber: DocumentNumber

  func write(to writer: inout ByteWriter) {
    writer.writeFixed(time)
    writer.writeFixed(commitCheck)
    writer.writeFixed(origin.rawValue)
    writer.writeVarint(lastNumber.rawValue)
  }
}

extension LogHead {
  init(from reader: inout ByteReader) throws(CodecError) {
    time = try reader.readFixed()
    commitCheck = try reader.readFixed()
    origin = LogOrigin(rawValue: try reader.readFixed())
    lastNumber = DocumentNumber(try reader.readVarint())
  }
}

/// The key of an entry of the log: its sequence, then its kind.
struct LogKey {
  let sequence: UInt64
  let kind: LogKind

  static let byteCount = 9

  init(_ sequence: UInt64, _ kind: LogKind) {
    self.sequence = sequence
    self.kind = kind
  }

  /// Reads a key; `nil` if it is not a key of the log.
  init?(_ key: RawSpan) {
    guard key.byteCount == Self.byteCount,
      let kind = LogKind(rawValue: unsafe key.unsafeLoadUnaligned(fromByteOffset: 8, as: UInt8.self))
    else { return nil }
    sequence = UInt64(bigEndian: unsafe key.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt64.self))
    self.kind = kind
  }

  var bytes: [UInt8] {
    var key = ByteWriter(capacity: Self.byteCount)
    key.writeFixed(sequence)
    key.write(kind.rawValue)
    return key.bytes
  }

  /// The first possible key after a sequence.
  static func first(after sequence: UInt64) -> [UInt8] {
    var key = ByteWriter(capacity: 8)
    key.writeFixed(sequence == .max ? sequence : sequence + 1)
    return key.bytes
  }
}
