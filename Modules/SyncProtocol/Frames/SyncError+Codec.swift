import CRDTCore
import DocStore

extension SyncError {
  /// Makes an error with its offset in the peer's stream, for a payload that begins at `base`.
  init(_ error: CodecError, in what: String, base: Int) {
    let code: Code =
      switch error.code {
      case .truncated: .truncated
      case .limit: .limit
      case .checksum: .checksum
      case .malformed, .unsupportedVersion, .unknownName: .malformed
      }
    self.init(code, "\(what): \(error.message)", offset: base + error.offset)
  }

  /// Returns the same error for bytes that begin at `base` in the peer's stream.
  func moved(by base: Int) -> SyncError { SyncError(code, message, offset: base + offset) }

  /// Makes an error from an error of the local store.
  init(store error: any Error) {
    if let error = error as? SyncError {
      self = error
    } else if let error = error as? StoreError, error.code == .closed {
      // This is not a failure: the database was closed during the session.
      self.init(.closed, "The database was closed")
    } else {
      self.init(.storage, "The local store failed: \(error)")
    }
  }
}
