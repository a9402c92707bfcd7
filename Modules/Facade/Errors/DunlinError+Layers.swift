import CRDTCore
import DocStore

extension DunlinError {
  /// Turns an error of a layer below into the public one; an application's own errors stay unchanged.
  package static func translating(_ error: any Error) -> any Error {
    if let error = error as? StoreError, let document = error.document {
      return DunlinError(document).located("operation", error.operation)
    }
    for layer in ErrorLayer.all {
      if let translated = layer.translate(error) { return translated }
    }
    return error
  }

  /// The public error for an error of any kind.
  package init(any error: any Error) {
    let translated = Self.translating(error)
    if let known = translated as? DunlinError {
      self = known
    } else if translated is CancellationError {
      self.init(.cancelled, "the task was cancelled", underlying: translated)
    } else {
      self.init(.other, "an error of the type \(type(of: translated))", underlying: translated)
    }
  }

  /// The public error for an error of a layer below.
  init(_ error: some CodedError) { self.init(any: error) }

  /// The public error with a code, for an error of a layer below; a place in a text is in the message, too.
  init(_ code: Code, _ error: some CodedError) {
    let context = error.context
    var message = error.message
    if let line = context["line"], let column = context["column"] {
      message += " (line \(line), column \(column))"
    }
    self.init(code, message, context: context, underlying: error)
  }
}

extension DunlinError {
  /// The error of a call that is not possible in a database that is only read.
  ///
  /// - Parameter what: Why it is not possible, as a clause.
  /// - Returns: The error.
  static func readOnlyStore(_ what: String) -> DunlinError {
    DunlinError(.readOnlyStore, "\(what), and the database is open for reading only")
  }
}

/// Runs `body`, and translates errors of the layers below to `DunlinError`; others stay unchanged.
///
/// - Parameters:
///   - form: The awaited form of a call that would block, for the error that names it.
///   - body: What to run.
/// - Returns: What `body` returns.
/// - Throws: The error of `body`, translated.
package func translatingErrors<R>(awaitedForm form: String? = nil, _ body: () throws -> R) throws -> R {
  do {
    return try body()
  } catch let error as StoreError where error.code == .wouldBlock {
    throw DunlinError(form.map { StoreError.wouldBlock(awaitedForm: $0) } ?? error)
  } catch {
    throw DunlinError.translating(error)
  }
}
