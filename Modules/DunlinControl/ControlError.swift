public import CRDTCore

/// Why a peer did not do what a client asked for over its control socket.
///
/// Commands that open a store themselves use this error too.
public struct ControlError: CodedError, CustomStringConvertible {
  /// The kind of failure, by the name that the public error of the database has for it.
  public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public var description: String { rawValue }

    /// A field of the request is missing or wrong.
    public static let argument = Self(rawValue: "argument")
    /// The request was cancelled.
    public static let cancelled = Self(rawValue: "cancelled")
    /// The database is closed.
    public static let closed = Self(rawValue: "closed")
    /// The text names no document.
    public static let invalidDocumentID = Self(rawValue: "invalidDocumentID")
    /// The request asks for too much.
    public static let limit = Self(rawValue: "limit")
    /// There is nothing of this name.
    public static let notFound = Self(rawValue: "notFound")
    /// The peer has given no kind.
    public static let other = Self(rawValue: "other")
    /// A line or a statement cannot be read.
    public static let syntax = Self(rawValue: "syntax")
  }

  /// A place in a statement.
  public struct Place: Hashable, Sendable {
    /// The line, from 1.
    public let line: Int
    /// The column in Unicode scalars, from 1.
    public let column: Int
    /// The part of the line near the place, with a caret below the place.
    public let excerpt: String?

    /// Makes a place.
    public init(line: Int, column: Int, excerpt: String? = nil) {
      (self.line, self.column, self.excerpt) = (line, column, excerpt)
    }
  }

  /// The kind of failure.
  public let code: Code
  /// The text for the user of a command, without the place.
  public let message: String
  /// Where in the statement the error is; `nil` for errors without a place there.
  public let place: Place?
  /// The index of the faulty document in a batch, counted from 0.
  public let document: Int?

  public var description: String {
    guard let place else { return message }
    let excerpt = place.excerpt.map { "\n" + $0 } ?? ""
    return "\(message) (line \(place.line), column \(place.column))\(excerpt)"
  }

  /// Makes an error.
  ///
  /// - Parameters:
  ///   - code: The kind of failure.
  ///   - message: The text for the user, without the place.
  ///   - place: Where in the statement the error is.
  ///   - document: The index of the faulty document in a batch.
  public init(_ code: Code, _ message: String, at place: Place? = nil, document: Int? = nil) {
    (self.code, self.message, self.place, self.document) = (code, message, place, document)
  }

  /// Reads an error that a peer has sent.
  public init(_ values: [TextKey: Value]) {
    self.init(
      values.string("code").map { Code(rawValue: $0) } ?? .other,
      values.string("message") ?? "no reason was given",
      at: values.integer("line").flatMap { line in
        values.integer("column").map { column in
          Place(line: line, column: column, excerpt: values.string("excerpt"))
        }
      },
      document: values.integer("document"))
  }

  /// The fields of a message that contains this error.
  var values: [TextKey: Value] {
    var values: [TextKey: Value] = ["code": .string(code.rawValue), "message": .string(message)]
    if let place {
      values["line"] = .count(place.line)
      values["column"] = .count(place.column)
      values["excerpt"] = place.excerpt.map { .string($0) }
    }
    if let document { values["document"] = .int(Int64(document)) }
    return values
  }
}
