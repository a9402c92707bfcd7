#if Server
  import CRDTCore
  import Facade
  import HTTPTypes
  import Hummingbird
  import NIOCore

  /// A response whose rows are sent as they are read, so that it needs little memory for any number of rows.
  struct StreamedAnswer: Sendable {
    /// Responses up to about this many bytes are sent as a whole; an error then still changes the status.
    private static let wholeBytes = 64 << 10
    /// Bytes that are collected before they are sent.
    private static let chunkBytes = 32 << 10

    /// The name of the member with the rows.
    let name: TextKey
    let answer: Answer
    /// The rows, each as its JSON.
    private let rows: OpenRows
    private let admission: Admission
    private let record: RequestRecord

    /// Ends the reading when the response is released.
    private final class OpenRows: Sendable {
      let reader: RowReader<[UInt8]>
      init(_ reader: RowReader<[UInt8]>) { self.reader = reader }
      deinit { reader.stop(nil) }
    }

    init(
      _ name: TextKey, _ answer: Answer, _ reader: RowReader<[UInt8]>, _ admission: Admission,
      _ record: RequestRecord
    ) {
      self.name = name
      self.answer = answer
      rows = OpenRows(reader)
      self.admission = admission
      self.record = record
    }

    /// Reads the first rows, and responds.
    ///
    /// - Throws: Errors that occur before anything is sent.
    func response() async throws -> Response {
      var text = RowText(bytes: answer.opening(name), limit: admission.limits.rows)
      while text.bytes.count < Self.wholeBytes {
        let more = try await rows.reader.take()
        guard !more.isEmpty else {
          text.bytes.append(contentsOf: ended.closing())
          return .json(text.bytes, transaction: answer.transaction.description)
        }
        try text.append(more)
      }
      let begun = text
      return Response(
        status: .ok, headers: Response.jsonHeaders(transaction: answer.transaction.description),
        body: ResponseBody { writer in try await send(begun, to: &writer) })
    }

    /// The response with the members that are known only at its end.
    private var ended: Answer {
      var answer = answer
      answer.warnings += rows.reader.hints
      return answer
    }

    @concurrent
    private func send(_ begun: RowText, to writer: inout any ResponseBodyWriter) async throws {
      var text = begun
      do {
        while true {
          if text.bytes.count >= Self.chunkBytes {
            try await writer.write(ByteBuffer(bytes: text.bytes))
            text.bytes.removeAll(keepingCapacity: true)
          }
          let more = try await rows.reader.take()
          guard !more.isEmpty else { break }
          try text.append(more)
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
      try await writer.finish(nil)
    }
  }

  /// The collected text of rows.
  private struct RowText {
    var bytes: [UInt8]
    let limit: Int
    private var count = 0

    init(bytes: [UInt8], limit: Int) { (self.bytes, self.limit) = (bytes, limit) }

    mutating func append(_ rows: [[UInt8]]) throws(Problem) {
      for row in rows {
        guard count < limit else {
          throw Problem(
            .unprocessableContent, "limit", "an answer has at most \(limit) rows: ask for parts, with LIMIT")
        }
        if count > 0 { bytes.append(UInt8(ascii: ",")) }
        bytes.append(contentsOf: row)
        count += 1
      }
    }
  }
#endif
