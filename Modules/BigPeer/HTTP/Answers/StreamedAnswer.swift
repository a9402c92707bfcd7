#if Server
  import CRDTCore
  import Facade
  import HTTPTypes
  import Hummingbird
  import NIOCore
  import Synchronization

  /// A response whose rows are sent as they are read, so that it needs little memory for any number of rows.
  struct StreamedAnswer: Sendable {
    /// Responses up to about this many bytes are sent as a whole; an error then still changes the status.
    private static let wholeBytes = 64 << 10

    /// The name of the member with the rows.
    let name: TextKey
    let answer: Answer
    /// The rows, each as its JSON.
    private let rows: OpenRows
    /// Counts the bytes of rows until they are sent.
    private let share: AnswerShare
    private let admission: Admission
    private let record: RequestRecord

    /// Ends the reading when the response is released.
    private final class OpenRows: Sendable {
      let reader: RowReader<[UInt8]>
      init(_ reader: RowReader<[UInt8]>) { self.reader = reader }
      deinit { reader.stop(nil) }
    }

    /// The rows that were read before the response began; they are released as they are sent.
    private final class FirstRows: Sendable {
      private let rows: Mutex<[[UInt8]]>

      init(_ rows: [[UInt8]]) { self.rows = Mutex(rows) }

      func take() -> [[UInt8]] {
        rows.withLock { rows in
          defer { rows = [] }
          return rows
        }
      }
    }

    init(
      _ name: TextKey, _ answer: Answer, _ reader: RowReader<[UInt8]>, _ share: AnswerShare,
      _ admission: Admission, _ record: RequestRecord
    ) {
      self.name = name
      self.answer = answer
      rows = OpenRows(reader)
      self.share = share
      self.admission = admission
      self.record = record
    }

    /// Reads the first rows, and responds.
    ///
    /// - Throws: Errors that occur before anything is sent.
    func response() async throws -> Response {
      var begun: [[UInt8]] = []
      var byteCount = 0
      while byteCount < Self.wholeBytes {
        let more = try await rows.reader.take()
        guard !more.isEmpty else {
          var text = RowText(bytes: answer.opening(name), limit: admission.limits.rows)
          for row in begun { try text.append(row) }
          return .json(text.bytes + ended.closing(), transaction: answer.transaction.description)
        }
        byteCount += more.reduce(0) { $0 + $1.count }
        begun.append(contentsOf: more)
        guard begun.count <= admission.limits.rows else { throw Problem.tooManyRows(admission.limits.rows) }
      }
      let first = FirstRows(begun)
      return Response(
        status: .ok, headers: Response.jsonHeaders(transaction: answer.transaction.description),
        body: ResponseBody { writer in try await send(first.take(), to: &writer) })
    }

    /// The response with the members that are known only at its end.
    private var ended: Answer {
      var answer = answer
      answer.warnings += rows.reader.hints
      return answer
    }

    @concurrent
    private func send(_ first: consuming [[UInt8]], to writer: inout any ResponseBodyWriter) async throws {
      var text = RowText(bytes: answer.opening(name), limit: admission.limits.rows)
      do {
        var more = consume first
        while !more.isEmpty {
          // The rows that are sent are released one by one.
          more.reverse()
          while let row = more.popLast() {
            if row.count > Response.pieceBytes {
              try text.appendSeparator()
              try await flush(&text, to: &writer)
              try await Response.write(piecesOf: row, to: &writer)
              share.sent(row.count)
            } else {
              try text.append(row)
              if text.bytes.count >= Response.pieceBytes { try await flush(&text, to: &writer) }
            }
          }
          more = try await rows.reader.take()
        }
      } catch {
        // It is too late for a status. The connection ends without the end of the body, so that no client
        // takes the response for complete.
        let problem = Problem(any: error)
        record.note(failure: problem.code.rawValue)
        if let underlying = problem.underlying { record.note(error: underlying) }
        try await writer.write(ByteBuffer(bytes: text.bytes + Answer.breaking(problem)))
        throw problem
      }
      try await writer.write(ByteBuffer(bytes: text.bytes + ended.closing()))
      share.sent(text.rowBytes)
      try await writer.finish(nil)
    }

    @concurrent
    private func flush(_ text: inout RowText, to writer: inout any ResponseBodyWriter) async throws {
      guard !text.bytes.isEmpty else { return }
      try await writer.write(ByteBuffer(bytes: text.bytes))
      share.sent(text.rowBytes)
      text.clear()
    }
  }

  /// The text of rows that are collected for one write.
  private struct RowText {
    private(set) var bytes: [UInt8]
    /// The bytes of rows among them.
    private(set) var rowBytes = 0
    private let limit: Int
    private var count = 0

    init(bytes: [UInt8], limit: Int) { (self.bytes, self.limit) = (bytes, limit) }

    /// Appends what comes before the next row, which is counted.
    mutating func appendSeparator() throws(Problem) {
      guard count < limit else { throw Problem.tooManyRows(limit) }
      if count > 0 { bytes.append(UInt8(ascii: ",")) }
      count += 1
    }

    mutating func append(_ row: [UInt8]) throws(Problem) {
      try appendSeparator()
      bytes.append(contentsOf: row)
      rowBytes += row.count
    }

    mutating func clear() {
      bytes.removeAll(keepingCapacity: true)
      rowBytes = 0
    }
  }

  extension Problem {
    fileprivate static func tooManyRows(_ limit: Int) -> Problem {
      Problem(
        .unprocessableContent, "limit", "an answer has at most \(limit) rows: ask for parts, with LIMIT")
    }
  }
#endif
