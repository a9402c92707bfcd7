import DocStore
import Foundation

/// What a database, or one file or directory of it, takes on disk.
public struct DunlinDiskUsage: Hashable, Sendable {
  /// The file's or directory's name.
  public let name: String
  /// The length; of a directory the sum of what is in it.
  public let byteCount: Int
  /// What is in a directory, by name; `nil` for a file.
  public let children: [DunlinDiskUsage]?

  /// Looks at a path, to any depth; what goes meanwhile is left out.
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
  /// What the database takes on disk, file by file; what is in it tells `store.statistics()`.
  ///
  /// - Throws: `closed`; `notFound` when the directory is gone.
  public func diskUsage() throws -> DunlinDiskUsage {
    guard core.isOpen else { throw DunlinError(.closed, "the database is closed") }
    let path = core.store.path
    // What a path through `/proc` leads to is listed where it ends in a slash.
    let usage = DunlinDiskUsage(
      path: core.store.directory.path + "/", name: (path as NSString).lastPathComponent)
    guard let usage else {
      throw DunlinError(.notFound, "there is no directory at \(path)", context: ["database": path])
    }
    return usage
  }
}
