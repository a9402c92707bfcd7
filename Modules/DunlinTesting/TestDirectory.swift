import Foundation

/// A directory of its own that is gone when nobody holds it any more.
final class TestDirectory: Sendable {
  let path: String

  /// Makes one in memory where the system has a file system there that this process may use, else among temporary files.
  init() throws {
    path = "\(Self.base)/dunlin-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  private static let base: String = {
    #if os(Linux)
      // Some containers give it a few megabytes, which a test fills soon.
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
