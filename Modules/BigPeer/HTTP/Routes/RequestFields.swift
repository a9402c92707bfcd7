#if Server
  package import CRDTCore
  import HTTPTypes
  package import Hummingbird
  import NIOCore

  /// The members of a JSON object that a request has sent, read one by one; one that nobody reads is a mistake.
  package struct RequestFields {
    private var fields: [TextKey: Value]
    private let place: String

    /// The members of an object.
    ///
    /// - Parameters:
    ///   - value: The object.
    ///   - place: Where it stands in the request, for messages.
    /// - Throws: `request` when it is none.
    package init(_ value: Value, at place: String = "") throws(Problem) {
      guard case .map(let fields) = value else {
        throw Problem.request("\(place.isEmpty ? "the body" : place) must be a JSON object")
      }
      self.fields = fields
      self.place = place
    }

    private mutating func take(_ name: TextKey) -> Value? {
      guard let value = fields.removeValue(forKey: name) else { return nil }
      return value == .null ? nil : value
    }

    private func fault(_ name: TextKey, _ message: String) -> Problem {
      Problem.request("\(place.isEmpty ? "" : "\(place).")\(name) \(message)")
    }

    /// Any value; `nil` where there is none, or null.
    package mutating func value(_ name: TextKey) -> Value? { take(name) }

    /// A text; `nil` where there is none.
    package mutating func text(_ name: TextKey, bytes: Int = 1 << 20) throws(Problem) -> String? {
      guard let value = take(name) else { return nil }
      guard case .string(let text) = value else { throw fault(name, "must be a text") }
      guard text.utf8.count <= bytes else { throw fault(name, "must have at most \(bytes) bytes") }
      return text
    }

    /// A text that must be there.
    package mutating func requiredText(_ name: TextKey, bytes: Int = 1 << 20) throws(Problem) -> String {
      guard let text = try text(name, bytes: bytes) else { throw fault(name, "is missing") }
      return text
    }

    /// True or false; `nil` where there is none.
    package mutating func flag(_ name: TextKey) throws(Problem) -> Bool? {
      guard let value = take(name) else { return nil }
      guard case .bool(let flag) = value else { throw fault(name, "must be true or false") }
      return flag
    }

    /// A whole number within bounds; `nil` where there is none.
    package mutating func integer(_ name: TextKey, in range: ClosedRange<Int>) throws(Problem) -> Int? {
      guard let value = take(name) else { return nil }
      guard let number = value.wholeNumber.flatMap({ Int(exactly: $0) }), range.contains(number) else {
        throw fault(name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
      }
      return number
    }

    /// The members of an object, such as arguments; none where there is no object.
    package mutating func map(_ name: TextKey) throws(Problem) -> [TextKey: Value]? {
      guard let value = take(name) else { return nil }
      guard case .map(let map) = value else { throw fault(name, "must be an object") }
      return map
    }

    /// A list; `nil` where there is none.
    package mutating func list(_ name: TextKey, count: ClosedRange<Int>) throws(Problem) -> [Value]? {
      guard let value = take(name) else { return nil }
      guard case .array(let list) = value else { throw fault(name, "must be a list") }
      guard count.contains(list.count) else {
        throw fault(name, "must have from \(count.lowerBound) to \(count.upperBound) elements")
      }
      return list
    }

    /// Ends the reading.
    ///
    /// - Throws: `request` with a member that nobody has read.
    package func finish() throws(Problem) {
      guard let unknown = fields.keys.min() else { return }
      throw fault(unknown, "is no member that is known here")
    }
  }

  extension Value {
    /// The number, where it is whole: to JSON, 3.0 is.
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
    /// - Parameter admission: Bounds it, and counts its bytes.
    /// - Returns: The value, in which tags stand for what JSON has no form for, and its bytes.
    /// - Throws: `contentType`, `bodyTooLarge`, `busy`, `request`; `connection`, `timeout` where it did not come whole.
    package func json(_ admission: Admission) async throws -> (value: Value, bytes: [UInt8]) {
      try checkContentType()
      let bytes = try await collect(atMost: admission.limits.bodyBytes) { count throws(Problem) in
        try admission.reserve(count)
      }
      // A body that was cut off may look whole.
      try admission.record.checkIsNeeded()
      try admission.reserve(JSONCost.bytes(of: bytes))
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
    ///   - limit: Bytes that it may have.
    ///   - reserve: Takes room for more of them.
    /// - Returns: All of them.
    /// - Throws: `bodyTooLarge`; `connection` where it did not come whole; what `reserve` throws.
    func collect(
      atMost limit: Int, _ reserve: (Int) throws(Problem) -> Void = { _ in }
    ) async throws -> [UInt8] {
      let length = headers[.contentLength].flatMap { Int($0) }
      if let length, length > limit { throw Problem.bodyTooLarge(limit) }
      var bytes: [UInt8] = []
      do {
        for try await chunk in body {
          guard bytes.count + chunk.readableBytes <= limit else { throw Problem.bodyTooLarge(limit) }
          try reserve(chunk.readableBytes)
          bytes.append(contentsOf: chunk.readableBytesView)
        }
      } catch let error where !(error is Problem || error is CancellationError) {
        throw Problem.abandoned
      }
      guard length.map({ $0 == bytes.count }) ?? true else { throw Problem.abandoned }
      return bytes
    }

    private func checkContentType() throws(Problem) {
      let parts =
        headers[.contentType]?.lowercased().split(separator: ";").map { $0.filter { $0 != " " } } ?? []
      let isUTF8 = parts.dropFirst().allSatisfy { $0 == "charset=utf-8" || $0 == "charset=\"utf-8\"" }
      guard parts.first == "application/json", isUTF8,
        (headers[.contentEncoding] ?? "identity").lowercased() == "identity"
      else {
        throw Problem(
          .unsupportedMediaType, "contentType", "the body must be JSON, with Content-Type: application/json")
      }
    }
  }

  extension Problem {
    fileprivate static func bodyTooLarge(_ limit: Int) -> Problem {
      Problem(.contentTooLarge, "bodyTooLarge", "the body must have at most \(limit) bytes")
    }
  }
#endif
