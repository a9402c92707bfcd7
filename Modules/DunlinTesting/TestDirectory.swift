import Foundation

/// A temporary directory that is deleted together with this object.
final class TestDirectory: Sendable {
  let path: String

  /// Makes the directory, in memory if this process may use a file system there.
  ///
  /// Otherwise it is among the temporary files.
  init() throws {
    path = "\(Self.base)/dunlin-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  private static let base: String = {
    #if os(Linux)
      // Some containers give it only a few megabytes, which a test soon fills.
      let attributes = try? FileManager.default.attributesOfFileSystem(forPath: memory)
      if FileManager.default.isWritableFile(atPath: memory),
        let free = attributes?[.systemFreeSize] as? NSNumber, free.intValue >= leastFreeBytes
      {
        return memory
      }
    #endif
    return FileManager.default.temporaryDirectory.path
  }()

  private static let memory = "/dev/shm"
  private static let leastFreeBytes = 1 << 30
}
