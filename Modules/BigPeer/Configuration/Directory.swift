#if Server
  import Foundation

  /// A directory of the server's that only its owner can use.
  enum Directory {
    /// Why a directory can be neither used nor created; `nil` if no obstacle is found.
    static func fault(_ path: String) -> String? {
      let files = FileManager.default
      var place = path
      var isDirectory: ObjCBool = false
      // A directory that does not exist yet is created in the nearest parent that does.
      while !files.fileExists(atPath: place, isDirectory: &isDirectory), place != "/", !place.isEmpty {
        place = URL(filePath: place).deletingLastPathComponent().path(percentEncoded: false)
        while place.count > 1, place.hasSuffix("/") { place.removeLast() }
      }
      guard isDirectory.boolValue else { return "\(path) cannot be used: \(place) is no directory" }
      guard files.isWritableFile(atPath: place), files.isExecutableFile(atPath: place) else {
        return "\(path) cannot be used: this user may not write in \(place)"
      }
      return nil
    }

    /// Creates a directory if it does not exist.
    ///
    /// - Throws: `BigPeerError` that names the directory.
    static func make(_ path: String) throws(BigPeerError) {
      do {
        try FileManager.default.createDirectory(
          atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      } catch {
        throw BigPeerError(fault(path) ?? "\(path) cannot be made: \(error.localizedDescription)")
      }
    }
  }
#endif
