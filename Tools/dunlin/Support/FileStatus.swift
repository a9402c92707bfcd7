import Foundation

// On Linux one of these has `stat`: the one whose headers the compiler meets first.
#if canImport(CDispatch)
  import CDispatch
#endif
#if canImport(CoreFoundation)
  import CoreFoundation
#endif

/// What the system says about a file.
struct FileStatus {
  enum Kind {
    case regular, folder
    /// A pipe, a device or anything else.
    case other
  }

  let kind: Kind
  let byteCount: Int
  /// The permission bits of the file's mode.
  let permissions: mode_t

  /// Looks at an open file; `nil` where that fails, with the reason in `errno`.
  init?(descriptor: Int32) { self.init { fstat(descriptor, &$0) } }

  /// Looks at the file that a path leads to; `nil` where that fails, with the reason in `errno`.
  init?(path: String) { self.init { stat(path, &$0) } }

  private init?(_ call: (inout stat) -> Int32) {
    var status = stat()
    guard call(&status) == 0 else { return nil }
    kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .regular
      case S_IFDIR: .folder
      default: .other
      }
    byteCount = Int(status.st_size)
    permissions = status.st_mode & 0o7777
  }
}
