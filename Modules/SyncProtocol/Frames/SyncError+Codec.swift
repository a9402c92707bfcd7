import CRDTCore
import DocStore

extension SyncError {
  /// Says where in the peer's stream a payload that begins at `base` went wrong.
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

  /// The same, found in bytes that begin at `base` in the peer's stream.
  func moved(by base: Int) -> SyncError { SyncError(code, message, offset: base + offset) }

  /// Reports what the local store refused.
  init(store error: any Error) {
    if let error = error as? SyncError {
      self = error
    } else if let error = error as? StoreError, error.code == .closed {
      // Nothing has failed: the database was closed under the session.
      self.init(.closed, "The database was closed")
    } else {
      self.init(.storage, "The local store failed: \(error)")
    }
  }
}
