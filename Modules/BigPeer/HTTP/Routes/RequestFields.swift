#if Server
  package import CRDTCore
  import HTTPTypes
  package import Hummingbird
  import NIOCore

  /// The members of a JSON object in a request, read one by one.
  ///
  /// A member that is never read is reported as a mistake.
  package struct RequestFields {
    private var fields: [TextKey: Value]
    private let place: String

    /// The members of an object.
    ///
    /// - Parameters:
    ///   - value: The object.
    ///   - place: Its place in the request, for messages.
    /// - Throws: `request` when the value is not an object.
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

    /// Any value; `nil` if the member is missing, or null.
    package mutating func value(_ name: TextKey) -> Value? { take(name) }

    /// A text; `nil` if the member is missing.
    package mutating func text(_ name: TextKey, bytes: Int = 1 << 20) throws(Problem) -> String? {
      guard let value = take(name) else { return nil }
      guard case .string(let text) = value else { throw fault(name, "must be a text") }
      guard text.utf8.count <= bytes else { throw fault(name, "must have at most \(bytes) bytes") }
      return text
    }

    /// A required text.
    package mutating func requiredText(_ name: TextKey, bytes: Int = 1 << 20) throws(Problem) -> String {
      guard let text = try text(name, bytes: bytes) else { throw fault(name, "is missing") }
      return text
    }

    /// True or false; `nil` if the member is missing.
    package mutating func flag(_ name: TextKey) throws(Problem) -> Bool? {
      guard let value = take(name) else { return nil }
      guard case .bool(let flag) = value else { throw fault(name, "must be true or false") }
      return flag
    }

    /// A whole number within bounds; `nil` if the member is missing.
    package mutating func integer(_ name: TextKey, in range: ClosedRange<Int>) throws(Problem) -> Int? {
      guard let value = take(name) else { return nil }
      guard let number = value.wholeNumber.flatMap({ Int(exactly: $0) }), range.contains(number) else {
        throw fault(name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
      }
      return number
    }

    /// The members of an object, such as arguments; `nil` if the member is missing.
    package mutating func map(_ name: TextKey) throws(Problem) -> [TextKey: Value]? {
      guard let value = take(name) else { return nil }
      guard case .map(let map) = value else { throw fault(name, "must be an object") }
      return map
    }

    /// A list; `nil` if the member is missing.
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
    /// - Throws: `request` with a member that was not read.
    package func finish() throws(Problem) {
      guard let unknown = fields.keys.min() else { return }
      throw fault(unknown, "is no member that is known here")
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
        try admission.reserve(count)
      }
      // A truncated body may look complete.
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
    ///   - limit: The maximum size of the body, in bytes.
    ///   - reserve: Reserves room for more bytes.
    /// - Returns: All bytes.
    /// - Throws: `bodyTooLarge`; `connection` if the body did not arrive completely; what `reserve` throws.
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
