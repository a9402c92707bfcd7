package import CRDTCore
import DocStore
import QueryEngine

/// Why a peer did not do what a client asked for over its control socket.
///
/// Commands that open a store themselves use this error too.
package struct ControlError: Error, CustomStringConvertible {
  /// A place in a statement.
  package struct Place: Hashable, Sendable {
    /// The line, from 1.
    package let line: Int
    /// The column in Unicode scalars, from 1.
    package let column: Int
    /// The part of the line near the place, with a caret below the place.
    package let excerpt: String?
  }

  /// The code of the public error.
  package let code: DunlinError.Code
  /// The text for the user of a command, without the place.
  package let message: String
  /// Where in the statement the error is; `nil` for errors without a place there.
  package let place: Place?
  /// The index of the faulty document in a batch, counted from 0.
  package let document: Int?

  package var description: String {
    guard let place else { return message }
    let excerpt = place.excerpt.map { "\n" + $0 } ?? ""
    return "\(message) (line \(place.line), column \(place.column))\(excerpt)"
  }

  package init(_ code: DunlinError.Code, _ message: String, at place: Place? = nil, document: Int? = nil) {
    (self.code, self.message, self.place, self.document) = (code, message, place, document)
  }

  /// Makes the error for an error of any kind, with the text that a command shows for it.
  package init(any error: any Error, document: Int? = nil) {
    switch error {
    case let error as ControlError: self = error
    case let error as QueryError:
      let place = error.position.map {
        Place(line: $0.line, column: $0.column, excerpt: error.excerpt)
      }
      self.init(DunlinError(error).code, error.sentence, at: place, document: document)
    case let error as DunlinError:
      guard let below = error.underlying, below is QueryError || below is StoreError else {
        self.init(error.code, error.message, document: document)
        return
      }
      self.init(any: below, document: document)
    case let error as DocumentError:
      self.init(DunlinError(any: error).code, error.message, document: document)
    case is CancellationError: self.init(.cancelled, "the request was cancelled", document: document)
    default: self.init(DunlinError(any: error).code, "\(error)", document: document)
    }
  }

  /// Reads an error that a peer has sent.
  package init(_ values: [TextKey: Value]) {
    self.init(
      DunlinError.Code(rawValue: values.string("code") ?? "other"),
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

/// Reads fields of a message.
extension [TextKey: Value] {
  package func string(_ name: TextKey) -> String? {
    if case .string(let text)? = self[name] { text } else { nil }
  }

  package func integer(_ name: TextKey) -> Int? {
    if case .int(let number)? = self[name] { Int(number) } else { nil }
  }

  package func boolean(_ name: TextKey) -> Bool? {
    if case .bool(let flag)? = self[name] { flag } else { nil }
  }

  package func elements(_ name: TextKey) -> [Value]? {
    if case .array(let values)? = self[name] { values } else { nil }
  }

  package func members(_ name: TextKey) -> [TextKey: Value]? {
    if case .map(let values)? = self[name] { values } else { nil }
  }

  /// The maps in a list.
  package func objects(_ name: TextKey) -> [[TextKey: Value]] {
    (elements(name) ?? []).compactMap { if case .map(let values) = $0 { values } else { nil } }
  }

  /// The texts in a list.
  package func strings(_ name: TextKey) -> [String] {
    (elements(name) ?? []).compactMap { if case .string(let text) = $0 { text } else { nil } }
  }
}

extension Value {
  /// An integer with the value of a count, clamped to 64 bits.
  package static func count(_ number: some BinaryInteger) -> Value { .int(Int64(clamping: number)) }
}
