#if Server
  import CRDTCore
  import Facade
  import HTTPTypes
  import Hummingbird
  import NIOCore

  /// The members of a response besides its rows.
  struct Answer {
    /// The maximum number of warnings in one response.
    static let warningLimit = 10

    enum QueryType: String {
      case select, mutation
      case unknown
    }

    var transaction: TransactionToken
    var queryType: QueryType?
    private(set) var mutatedDocumentIDs: [DocumentID] = []
    private var knownIDs: Set<DocumentID> = []
    var warnings: [String] = []
    /// The documents whose content is in the rows.
    var content = AnswerContent()
    /// Members that only some responses have.
    var members: [(key: TextKey, value: Value)] = []

    init(transaction: TransactionToken, queryType: QueryType? = nil) {
      (self.transaction, self.queryType) = (transaction, queryType)
    }

    /// Adds documents that were written, each only once.
    mutating func addMutated(_ ids: [DocumentID]) {
      for id in ids where knownIDs.insert(id).inserted { mutatedDocumentIDs.append(id) }
    }

    /// The bytes before the rows, from the beginning of the response.
    func opening(_ rows: TextKey) -> [UInt8] { beginning() + Array(",\"\(rows.text)\":[".utf8) }

    private func beginning() -> [UInt8] {
      var bytes = Array("{\"transactionId\":".utf8)
      JSON.write(.string(transaction.description), to: &bytes)
      if let queryType { bytes.append(contentsOf: ",\"queryType\":\"\(queryType.rawValue)\"".utf8) }
      for (key, value) in members {
        bytes.append(contentsOf: ",\"\(key.text)\":".utf8)
        JSON.write(value, to: &bytes, options: .answer())
      }
      return bytes
    }

    /// The bytes after the rows, to the end of the response.
    func closing() -> [UInt8] { [UInt8(ascii: "]")] + ending() }

    private func ending() -> [UInt8] {
      var bytes: [UInt8] = []
      if queryType != nil {
        bytes.append(contentsOf: ",\"mutatedDocumentIds\":".utf8)
        JSON.write(.array(mutatedDocumentIDs.map(\.value)), to: &bytes, options: .answer())
      }
      bytes.append(contentsOf: ",\"warnings\":".utf8)
      JSON.write(.array(warnings.prefix(Self.warningLimit).map { .string($0) }), to: &bytes)
      bytes.append(contentsOf: ",\"totalWarningsCount\":\(warnings.count)}".utf8)
      return bytes
    }

    /// The bytes after the rows when the response breaks off before the last row.
    static func breaking(_ problem: Problem) -> [UInt8] {
      var bytes = Array("],\"error\":".utf8)
      JSON.write(
        .map(["code": .string(problem.code.rawValue), "detail": .string(problem.message)]), to: &bytes)
      bytes.append(UInt8(ascii: "}"))
      return bytes
    }

    /// The bytes of a response without rows.
    func bytesWithoutRows() -> [UInt8] { beginning() + ending() }

    /// The bytes of the response after a document was erased whose content was in the rows.
    func bytesWithoutContent(_ rows: TextKey) -> [UInt8] {
      var answer = self
      answer.members.append((key: "contentErased", value: .bool(true)))
      return answer.bytes(rows)
    }

    /// The bytes of the whole response.
    func bytes(_ rows: TextKey = "items", _ values: [Value] = []) -> [UInt8] {
      var bytes = opening(rows)
      for (index, value) in values.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        JSON.write(value, to: &bytes, options: .answer())
      }
      bytes.append(contentsOf: closing())
      return bytes
    }
  }

  extension Response {
    /// The bytes that are handed to a connection at a time.
    static let pieceBytes = 32 << 10

    /// A response whose bytes are complete, and count for its request until they are sent.
    ///
    /// Room for them is reserved before: ``Admission/reserveAnswer(_:)``.
    static func json(
      _ bytes: [UInt8], status: HTTPResponse.Status = .ok, headers: HTTPFields, _ admission: Admission
    ) -> Response {
      guard bytes.count > pieceBytes else {
        return Response(
          status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
      }
      return Response(
        status: status, headers: headers,
        body: ResponseBody(contentLength: bytes.count) { writer in
          // The request lasts until all is sent.
          defer { withExtendedLifetime(admission) {} }
          try await write(piecesOf: bytes, to: &writer)
          try await writer.finish(nil)
        })
    }

    /// Writes bytes piece by piece, each once the connection takes it.
    @concurrent
    static func write(piecesOf bytes: [UInt8], to writer: inout any ResponseBodyWriter) async throws {
      for start in stride(from: 0, to: bytes.count, by: pieceBytes) {
        let end = min(start + pieceBytes, bytes.count)
        try await writer.write(ByteBuffer(bytes: bytes[start..<end]))
      }
    }

    /// A response whose bytes are complete.
    static func json(_ bytes: [UInt8], status: HTTPResponse.Status = .ok, transaction: String?) -> Response {
      Response(
        status: status, headers: jsonHeaders(transaction: transaction),
        body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// The headers of a JSON response.
    static func jsonHeaders(transaction: String?) -> HTTPFields {
      var headers: HTTPFields = [.contentType: "application/json", .cacheControl: "no-store"]
      if let transaction { headers[.transaction] = transaction }
      return headers
    }
  }

  extension JSON.WriteOptions {
    /// The form of documents in responses: the same as in requests, but counters are plain numbers.
    ///
    /// With `areCountersTagged` counters are tagged, as in requests.
    static func answer(areCountersTagged: Bool = false) -> Self {
      Self(isLossless: areCountersTagged, escapesTags: true)
    }
  }
#endif
