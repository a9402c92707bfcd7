#if Server
  package import CRDTCore
  import HTTPTypes
  package import Hummingbird
  import NIOCore

  /// The members of a JSON object in a request, read one by one.
  ///
  /// A member that is never read is reported as a mistake.
  package typealias RequestFields = JSONMembers<Problem>

  extension Problem: JSONMemberError {
    package static var textBytes: ClosedRange<Int> { 0...1 << 20 }
    package static var areDoublesIntegers: Bool { true }

    package init(_ mistake: JSONMistake) {
      switch mistake.reason {
      case .noObject where mistake.path.isEmpty: self = .request("the body \(mistake.sentence)")
      default: self = .request("\(mistake.path) \(mistake.sentence)")
      }
    }
  }

  extension Value {
    /// The number, if it is whole: in JSON, 3.0 is a whole number.
    var wholeNumber: Int64? {
      switch self {
      case .int(let number): number
      case .double(let number): Int64(exactly: number)
      default: nil
      }
    }
  }

  extension Request {
    /// The JSON of the body.
    ///
    /// - Parameter admission: Limits the body, and counts its bytes.
    /// - Returns: The value, with tags for values that JSON cannot express, and its bytes.
    /// - Throws: `contentType`, `bodyTooLarge`, `busy`, `request`; `connection`, `timeout` if the body did
    ///   not arrive completely.
    package func json(_ admission: Admission) async throws -> (value: Value, bytes: [UInt8]) {
      try checkContentType()
      let bytes = try await collect(atMost: admission.limits.bodyBytes) { count throws(Problem) in
        // Its texts are copied when it is parsed.
        try await admission.reserveBody(count * 2)
      }
      // A truncated body may look complete.
      try admission.record.checkIsNeeded()
      try await admission.reserveBody(JSONCost.bytes(of: bytes))
      do {
        return (try JSON.parse(bytes, options: JSON.ReadOptions(interpretsTags: true)), bytes)
      } catch {
        throw Problem(
          .badRequest, "request", "the body is not the JSON that is expected: \(error.message)",
          members: ["offset": .int(Int64(error.offset))])
      }
    }

    /// The bytes of the body.
    ///
    /// - Parameters:
    ///   - limit: The maximum size of the body, in bytes.
    ///   - reserve: Reserves room for more bytes, for all at once where the request says
    ///     how many there are.
    /// - Returns: All bytes.
    /// - Throws: `bodyTooLarge`; `connection` if the body did not arrive completely; what `reserve` throws.
    func collect(
      atMost limit: Int, _ reserve: (Int) async throws(Problem) -> Void = { _ in }
    ) async throws -> [UInt8] {
      let length = headers[.contentLength].flatMap { Int($0) }
      if let length, length > limit { throw Problem.bodyTooLarge(limit) }
      var bytes: [UInt8] = []
      if let length {
        try await reserve(length)
        bytes.reserveCapacity(length)
      }
      do {
        for try await chunk in body {
          guard bytes.count + chunk.readableBytes <= limit else { throw Problem.bodyTooLarge(limit) }
          if length == nil { try await reserve(chunk.readableBytes) }
          bytes.append(contentsOf: chunk.readableBytesView)
        }
      } catch let error where !(error is Problem || error is CancellationError) {
        throw Problem.abandoned
      }
      guard length.map({ $0 == bytes.count }) ?? true else { throw Problem.abandoned }
      return bytes
    }

    private func checkContentType() throws(Problem) {
      let type = headers[.contentType]
      // This is what nearly all clients send.
      if type == "application/json", headers[.contentEncoding] == nil { return }
      let parts =
        type?.lowercased().split(separator: ";").map { $0.filter { $0 != " " } } ?? []
      let isUTF8 = parts.dropFirst().allSatisfy { $0 == "charset=utf-8" || $0 == "charset=\"utf-8\"" }
      guard parts.first == "application/json", isUTF8 else {
        throw Problem(
          .unsupportedMediaType, "contentType", "the body must be JSON, with Content-Type: application/json")
      }
      guard (headers[.contentEncoding] ?? "identity").lowercased() == "identity" else {
        throw Problem(
          .unsupportedMediaType, "contentEncoding", "the body must be sent without Content-Encoding")
      }
    }
  }

  extension Problem {
    fileprivate static func bodyTooLarge(_ limit: Int) -> Problem {
      Problem(.contentTooLarge, "bodyTooLarge", "the body must have at most \(limit) bytes")
    }
  }
#endif
