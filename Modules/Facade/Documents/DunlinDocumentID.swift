import CRDTCore

/// The id of a document in its collection: a string, an integer, a boolean, bytes, an array or a map.
///
/// It never changes. It compares with literals: `id == "abc123"`.
public struct DunlinDocumentID: Hashable, Sendable, Comparable {
  private enum Content: Hashable, Sendable {
    case id(DocumentID)
    /// The value of a literal that cannot be an id.
    ///
    /// It equals no valid id, and calls that use it throw.
    case invalid(Value)
  }

  private let content: Content

  init(_ id: DocumentID) { content = .id(id) }

  /// Makes an id of a value such as `["orderId": "def456", "owner": "abc123"]`.
  ///
  /// - Throws: `invalidDocumentID` for null, a floating-point number, and more than 256 encoded bytes;
  ///   `unsupportedValue` for a value that documents cannot hold.
  public init(value: Any?) throws(DunlinError) {
    let value = try Value(converting: value)
    do {
      content = .id(try DocumentID(value))
    } catch {
      throw DunlinError(error)
    }
  }

  private init(literal value: Value) {
    content = (try? DocumentID(value)).map(Content.id) ?? .invalid(value)
  }

  /// The id; for an invalid literal, an empty one that identifies no document.
  var id: DocumentID {
    switch content {
    case .id(let id): id
    case .invalid: DocumentID(trusted: [])
    }
  }

  /// - Throws: `invalidDocumentID` when the literal that it was made of cannot be an id.
  func checked() throws(DunlinError) -> DocumentID {
    switch content {
    case .id(let id): return id
    case .invalid(let value):
      do {
        return try DocumentID(value)
      } catch {
        throw DunlinError(error)
      }
    }
  }

  /// The id as a value: `String`, `Int`, `Bool`, `[UInt8]`, array or dictionary.
  public var value: Any? {
    switch content {
    case .id(let id): id.value.any
    case .invalid(let value): value.any
    }
  }

  /// The id if it is a string.
  public var string: String? { value as? String }

  /// The id if it is a string, otherwise an empty string.
  public var stringValue: String { string ?? "" }

  /// The id if it is an integer.
  public var int: Int? { value as? Int }

  public static func < (a: DunlinDocumentID, b: DunlinDocumentID) -> Bool { a.id < b.id }
}

extension DunlinDocumentID: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
  ExpressibleByBooleanLiteral
{
  public init(stringLiteral value: String) { self.init(literal: .string(value)) }
  public init(integerLiteral value: Int64) { self.init(literal: .int(value)) }
  public init(booleanLiteral value: Bool) { self.init(literal: .bool(value)) }
}

extension DunlinDocumentID: CustomStringConvertible {
  /// A string id unchanged, any other id as JSON.
  public var description: String {
    switch content {
    case .id(let id): if case .string(let text) = id.value { text } else { JSON.text(of: id.value) }
    case .invalid(let value): JSON.text(of: value)
    }
  }
}

extension DunlinDocumentID: Codable {
  /// Decodes a string or an integer; a document's own decoder also knows the other types.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let text = try? container.decode(String.self) {
      try self.init(value: text)
    } else {
      try self.init(value: try container.decode(Int.self))
    }
  }

  /// Encodes a string or an integer as itself and any other id as its text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let int { try container.encode(int) } else { try container.encode(description) }
  }
}
