import CRDTCore
import DocStore
package import DunlinControl
import QueryEngine
import Transports

extension ControlError {
  /// Makes the error for an error of any kind, with the text that a command shows for it.
  package init(any error: any Error) {
    switch error {
    case let error as ControlError: self = error
    case let error as QueryError:
      let place = error.position.map {
        Place(line: $0.line, column: $0.column, excerpt: error.excerpt)
      }
      self.init(DunlinError(error).controlCode, error.sentence, at: place)
    case let error as DunlinError:
      guard let below = error.underlying, below is QueryError || below is StoreError else {
        self.init(error.controlCode, error.message)
        return
      }
      self.init(any: below)
    case let error as DocumentError: self.init(DunlinError(error).controlCode, error.message)
    case is CancellationError: self.init(.cancelled, "the request was cancelled")
    default: self.init(DunlinError(any: error).controlCode, "\(error)")
    }
  }
}

extension DunlinError {
  /// The code under which the control protocol sends this error.
  fileprivate var controlCode: ControlError.Code { ControlError.Code(rawValue: code.rawValue) }

  init(_ error: ControlSocketError) {
    switch error {
    case .closed: self.init(.closed, "the database is closed")
    case .link(let error, let path):
      // The link layer reports `portInUse`, but a socket has no port.
      let code: Code? = error.code == .portInUse ? .exists : nil
      self.init(
        code ?? DunlinError(error).code, error.message, context: ["path": path], underlying: error)
    }
  }
}
