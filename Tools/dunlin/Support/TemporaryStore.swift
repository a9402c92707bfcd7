import Foundation

/// The directory of a store for a command that needs one and keeps nothing.
enum TemporaryStore {
  /// Makes an empty directory that only this user may read.
  ///
  /// - Parameter name: What its name begins with.
  /// - Returns: Its path.
  /// - Throws: What Foundation throws when it cannot be made.
  static func make(_ name: String) throws -> String {
    let url = FileManager.default.temporaryDirectory.appending(path: "\(name)-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    return url.path
  }

  /// Removes it, with all that it has.
  static func remove(_ path: String) {
    do {
      try FileManager.default.removeItem(atPath: path)
    } catch {
      Output.note("\(path) could not be removed: \(error.localizedDescription)")
    }
  }
}
