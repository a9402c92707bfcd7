import CRDTCore
import DocStore
import Foundation
import Links
import QueryEngine
import ScopePolicy
import SyncProtocol

extension DunlinError {
  /// Turns an error of a layer below into the public one; an application's own errors stay unchanged.
  package static func translating(_ error: any Error) -> any Error {
    switch error {
    case let error as StoreError: DunlinError(error)
    case let error as QueryError: DunlinError(error)
    case let error as DocumentError: DunlinError(error)
    case let error as CodecError: DunlinError(error)
    case let error as SyncError: DunlinError(error)
    case let error as LinkError: DunlinError(error)
    case let error as RemoteQueryError: DunlinError(error)
    case let error as ScopeError: DunlinError(error)
    default: translatingLogin(error)
    }
  }

  private static func translatingLogin(_ error: any Error) -> any Error {
    #if TLS
      if let error = error as? LoginError { return DunlinError(error) }
    #endif
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

  init(_ error: StoreError) {
    if let document = error.document {
      self.init(document, operation: error.operation)
      return
    }
    var context = ["operation": error.operation]
    if let underlying = error.underlying { context["returned"] = "\(underlying)" }
    // A code of the store that has no public counterpart keeps its name.
    self.init(Code(rawValue: error.code.rawValue), error.message, context: context, underlying: error)
  }

  init(_ error: DocumentError, operation: String? = nil) {
    let code: Code =
      switch error.code {
      case .invalidID: .invalidDocumentID
      case .depth, .size, .tooLarge: .limit
      case .invalidPath: .invalidPath
      case .notACounter: .notACounter
      case .isACounter: .isACounter
      case .notFound: .notFound
      case .corrupt: .corrupt
      case .tooManySites: .tooManySites
      case .tooManyKeys: .tooManyKeys
      }
    var context: [String: String] = [:]
    if let operation { context["operation"] = operation }
    if !error.path.isEmpty { context["path"] = error.path.map(\.text).joined(separator: ".") }
    self.init(code, error.message, context: context, underlying: error)
  }

  init(_ error: QueryError) {
    var context: [String: String] = [:]
    var message = error.message
    if let position = error.position {
      context["line"] = "\(position.line)"
      context["column"] = "\(position.column)"
      message += " (line \(position.line), column \(position.column))"
    }
    if let document = error.document { context["document"] = JSON.text(of: document.value) }
    if !error.expected.isEmpty { context["expected"] = error.expected.joined(separator: ", ") }
    if let excerpt = error.excerpt { context["excerpt"] = excerpt }
    self.init(Code(rawValue: error.code.rawValue), message, context: context, underlying: error)
  }

  init(_ error: CodecError) {
    let code: Code =
      switch error.code {
      case .truncated, .malformed, .checksum, .unknownName: .corrupt
      case .unsupportedVersion: .unsupportedVersion
      case .limit: .limit
      }
    self.init(code, error.message, context: ["byte": "\(error.offset)"], underlying: error)
  }

  init(_ error: SyncError) {
    let code: Code =
      switch error.code {
      case .truncated, .malformed, .checksum, .outOfOrder: .malformed
      case .limit: .limit
      case .versionMismatch, .appMismatch, .siteClash, .cloned, .keyClash: .incompatiblePeer
      case .timeout: .timeout
      case .storage: .io
      case .peerClosed, .closed: .closed
      default: .other
      }
    self.init(code, error.message, underlying: error)
  }

  init(_ error: RemoteQueryError) {
    // The codes are those of queries, as the other peer has sent them.
    self.init(Code(rawValue: error.code.rawValue), error.message, underlying: error)
  }

  init(_ error: ScopeError) {
    self.init(
      error.code == .collectionName ? .invalidCollectionName : .argument, error.message,
      context: error.collection.map { ["collection": $0] } ?? [:], underlying: error)
  }

  init(_ error: LinkError) {
    let code: Code =
      switch error.code {
      case .portInUse: .portInUse
      case .permissionDenied: .permission
      case .refused, .unreachable: .unreachable
      case .timedOut: .timeout
      case .system where [EMFILE, ENFILE].contains(error.underlying): .tooManyFiles
      case .cancelled: .cancelled
      case .closed, .disconnected: .closed
      case .credentials, .expired, .untrusted, .revoked: .identity
      case .malformed: .malformed
      default: .io
      }
    self.init(code, error.message, underlying: error)
  }
}

#if TLS
  extension DunlinError {
    init(_ error: LoginError) {
      let code: Code =
        switch error.code {
        case .argument: .argument
        case .refused: .authentication
        case .unreachable: .unreachable
        case .timedOut: .timeout
        case .unavailable: .unavailable
        case .untrusted, .answer, .certificate: .identity
        case .cancelled: .cancelled
        }
      let wait = error.retryAfter.map { ["retryAfter": "\($0.components.seconds)"] } ?? [:]
      self.init(code, error.message, context: wait, underlying: error)
    }
  }
#endif

/// Runs `body`, and translates errors of the layers below to `DunlinError`; others stay unchanged.
///
/// - Parameters:
///   - form: The awaited form of a call that would block, for the error that names it.
///   - body: What to run.
/// - Returns: What `body` returns.
/// - Throws: The error of `body`, translated.
func translatingErrors<R>(awaitedForm form: String? = nil, _ body: () throws -> R) throws -> R {
  do {
    return try body()
  } catch let error as StoreError where error.code == .wouldBlock {
    throw DunlinError(form.map { StoreError.wouldBlock(awaitedForm: $0) } ?? error)
  } catch {
    throw DunlinError.translating(error)
  }
}
