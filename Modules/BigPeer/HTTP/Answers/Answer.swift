#if Server
  import CRDTCore
  import Facade
  import HTTPTypes
  import Hummingbird
  import NIOCore

  /// The members of an answer beside its rows.
  struct Answer {
    /// Warnings of one answer.
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
    /// Members that only some answers have.
    var members: [(key: TextKey, value: Value)] = []

    init(transaction: TransactionToken, queryType: QueryType? = nil) {
      (self.transaction, self.queryType) = (transaction, queryType)
    }

    /// Adds documents that were written, each once.
    mutating func addMutated(_ ids: [DocumentID]) {
      for id in ids where knownIDs.insert(id).inserted { mutatedDocumentIDs.append(id) }
    }

    /// What stands before the rows, from the answer's beginning.
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

    /// What stands behind the rows, to the answer's end.
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

    /// What stands behind the rows when they end before the last one.
    static func breaking(_ problem: Problem) -> [UInt8] {
      var bytes = Array("],\"error\":".utf8)
      JSON.write(
        .map(["code": .string(problem.code), "detail": .string(problem.detail)]), to: &bytes)
      bytes.append(UInt8(ascii: "}"))
      return bytes
    }

    /// The whole answer, which has no rows.
    func bytesWithoutRows() -> [UInt8] { beginning() + ending() }

    /// The whole answer.
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
    /// An answer whose bytes are all there.
    static func json(_ bytes: [UInt8], status: HTTPResponse.Status = .ok, transaction: String?) -> Response {
      Response(
        status: status, headers: jsonHeaders(transaction: transaction),
        body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// The headers of an answer in JSON.
    static func jsonHeaders(transaction: String?) -> HTTPFields {
      var headers: HTTPFields = [.contentType: "application/json", .cacheControl: "no-store"]
      if let transaction { headers[.transaction] = transaction }
      return headers
    }
  }

  extension JSON.WriteOptions {
    /// How documents stand in answers: as bodies of requests are read, but that counters are numbers unless `areCountersTagged`.
    static func answer(areCountersTagged: Bool = false) -> Self {
      Self(isLossless: areCountersTagged, escapesTags: true)
    }
  }
#endif
