package import CRDTCore
import DocStore
import QueryEngine

/// Why a peer did not do what it was asked over its control socket; also for commands that ask a store that nobody has open.
package struct ControlError: Error, CustomStringConvertible {
  /// The code of the public error.
  package let code: DunlinError.Code
  /// What is shown to the user of a command.
  package let message: String
  /// The document of a batch that is wrong, counted from 0.
  package let document: Int?

  package var description: String { message }

  package init(_ code: DunlinError.Code, _ message: String, document: Int? = nil) {
    (self.code, self.message, self.document) = (code, message, document)
  }

  /// The error for an error of any kind, in the words that a command shows for it.
  package init(any error: any Error, document: Int? = nil) {
    switch error {
    case let error as ControlError: self = error
    case let error as DunlinError:
      let below = error.underlying
      let words = below is QueryError || below is StoreError ? below.map { "\($0)" } : nil
      self.init(error.code, words ?? error.message, document: document)
    case let error as DocumentError:
      self.init(DunlinError(any: error).code, error.message, document: document)
    case is CancellationError: self.init(.cancelled, "the request was cancelled", document: document)
    default: self.init(DunlinError(any: error).code, "\(error)", document: document)
    }
  }

  /// What was sent as an error.
  package init(_ values: [TextKey: Value]) {
    self.init(
      DunlinError.Code(rawValue: values.string("code") ?? "other"),
      values.string("message") ?? "no reason was given",
      document: values.integer("document"))
  }

  /// What is sent of it.
  var values: [TextKey: Value] {
    var values: [TextKey: Value] = ["code": .string(code.rawValue), "message": .string(message)]
    if let document { values["document"] = .int(Int64(document)) }
    return values
  }
}

/// Parts of a message.
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
  /// A count, as far as an integer goes.
  package static func count(_ number: some BinaryInteger) -> Value { .int(Int64(clamping: number)) }
}
