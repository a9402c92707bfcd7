import Foundation

/// A directory of its own for one test, removed with all it holds when the last reference goes.
///
/// A store must not outlive its directory, so keep the directory in a property of the suite, or use
/// ``with(_:)-(_)``, which keeps it to the end of the closure.
public final class TemporaryDirectory: Sendable {
  /// An absolute path, without a trailing slash.
  public let path: String

  /// What all directories of this process lie in; it goes with the process, also when a test was cut
  /// short or keeps something alive.
  private static let root: String = {
    let root = FileManager.default.temporaryDirectory
      .appendingPathComponent("dunlin-test-\(ProcessInfo.processInfo.processIdentifier)").path
    atexit { TemporaryDirectory.removeAll() }
    return root
  }()

  private static func removeAll() { try? FileManager.default.removeItem(atPath: root) }

  /// Makes a directory under `TMPDIR`, or under `/tmp` where that is not set.
  ///
  /// - Throws: What the file system reports.
  public init() throws {
    path = "\(Self.root)/\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of an entry called `name`; nothing is made there.
  public func file(_ name: String) -> String { path + "/" + name }

  /// The names of what the directory holds now, sorted.
  ///
  /// - Throws: What the file system reports.
  public func contents() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path).sorted()
  }

  /// Runs `body` with a fresh directory, which is gone when this returns.
  ///
  /// - Throws: What `body` throws, or what the file system reports.
  public static func with<Result>(_ body: (TemporaryDirectory) throws -> Result) throws -> Result {
    let directory = try TemporaryDirectory()
    return try withExtendedLifetime(directory) { try body(directory) }
  }

  /// Runs `body` with a fresh directory, which is gone when this returns.
  ///
  /// - Throws: What `body` throws, or what the file system reports.
  public static func with<Result>(
    isolation: isolated (any Actor)? = #isolation, _ body: (TemporaryDirectory) async throws -> Result
  ) async throws -> Result {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    return try await body(directory)
  }
}
