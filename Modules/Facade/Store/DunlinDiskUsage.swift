import DocStore
import Foundation

/// The size on disk of a database, or of one file or directory of it.
public struct DunlinDiskUsage: Hashable, Sendable {
  /// The file's or directory's name.
  public let name: String
  /// The length in bytes; for a directory, the sum of its contents.
  public let byteCount: Int
  /// The contents of a directory, by name; `nil` for a file.
  public let children: [DunlinDiskUsage]?

  /// Examines a path to any depth; leaves out files that disappear meanwhile.
  init?(path: String, name: String) {
    guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else { return nil }
    self.name = name
    guard attributes[.type] as? FileAttributeType == .typeDirectory else {
      byteCount = (attributes[.size] as? NSNumber)?.intValue ?? 0
      children = nil
      return
    }
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    let found = names.sorted().compactMap { DunlinDiskUsage(path: path + "/" + $0, name: $0) }
    byteCount = found.reduce(0) { $0 + $1.byteCount }
    children = found
  }
}

extension Dunlin {
  /// Returns the disk usage of the database, file by file.
  ///
  /// `store.statistics()` returns what the files contain.
  /// - Throws: `closed`; `notFound` when the directory no longer exists.
  public func diskUsage() throws -> DunlinDiskUsage {
    guard core.state.isOpen else { throw DunlinError(.closed, "the database is closed") }
    let path = core.local.store.path
    // A path through `/proc` lists its target only when it ends in a slash.
    let usage = DunlinDiskUsage(
      path: core.local.store.directory.path + "/", name: (path as NSString).lastPathComponent)
    guard let usage else {
      throw DunlinError(.notFound, "there is no directory at \(path)", context: ["database": path])
    }
    return usage
  }
}
