import CRDTCore
import Platform

/// A directory with points of a store: a base begins a chain, and an increment follows the file before it.
struct BackupSeries {
  let held: HeldDirectory

  /// A name in the directory that is a point's.
  struct Name: Comparable {
    let number: Int
    let isBase: Bool

    /// The name of the file of a point.
    var text: String {
      let digits = String(number)
      let zeros = String(repeating: "0", count: max(Self.digits - digits.utf8.count, 0))
      return zeros + digits + (isBase ? ".base" : ".increment")
    }

    private static let digits = 8

    init(number: Int, isBase: Bool) { (self.number, self.isBase) = (number, isBase) }

    /// Reads a name; `nil` for any other file, such as one that is not complete.
    init?(_ text: String) {
      let parts = text.split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count == 2, let number = Int(parts[0]), number > 0,
        parts[1].utf8.elementsEqual("base".utf8) || parts[1].utf8.elementsEqual("increment".utf8)
      else { return nil }
      self.init(number: number, isBase: parts[1].utf8.elementsEqual("base".utf8))
      guard self.text.isSame(as: text) else { return nil }
    }

    static func < (a: Name, b: Name) -> Bool {
      (a.number, a.isBase ? 0 : 1) < (b.number, b.isBase ? 0 : 1)
    }
  }

  /// Opens a series that exists.
  ///
  /// - Throws: `notFound`, `permission`, `io`.
  init(_ path: String) throws(StoreError) { held = try HeldDirectory(path) }

  /// Opens a series, or begins one in a directory that is empty or does not exist.
  ///
  /// - Throws: `exists` if there is a store; `notFound`, `permission`, `io`.
  init(making path: String) throws(StoreError) {
    held = try HeldDirectory(making: path)
    guard held.identity(of: "data.mdb") == nil else {
      throw StoreError(
        .exists, "There is a store at the path already, and no series of backups: \(path)",
        operation: "backup")
    }
  }

  /// Excludes other backups, restores and removals at the series while `body` runs.
  ///
  /// - Throws: `alreadyOpen`; what `body` throws.
  func locked<R>(for use: StoreLock.Use = .writing, _ body: () throws -> R) throws -> R {
    let lock: StoreLock
    do throws(StoreError) { lock = try StoreLock(held, for: use) } catch {
      guard error.code == .alreadyOpen else { throw error }
      throw StoreError(
        .alreadyOpen, "Another backup or restore uses the series \(held.name)", operation: "backup")
    }
    return try withExtendedLifetime(lock) { try body() }
  }

  /// The names of the points' files, in order.
  ///
  /// - Throws: `corrupt` if two files have one number; `io`.
  func names() throws(StoreError) -> [Name] {
    // SAFETY: the path is read during the call only, and the directory is closed below.
    guard let directory = unsafe opendir(held.path) else {
      throw StoreError(engine: errno, "opendir", path: held.name)
    }
    defer { unsafe closedir(directory) }
    var names: [Name] = []
    while let entry = unsafe readdir(directory) {
      // SAFETY: the entry, with its terminated name, stays until the next call.
      let text = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        unsafe pointer.withMemoryRebound(
          to: CChar.self, capacity: MemoryLayout.size(ofValue: pointer.pointee)
        ) {
          unsafe String(cString: $0)
        }
      }
      if let name = Name(text) { names.append(name) }
    }
    names.sort()
    for (name, next) in zip(names, names.dropFirst()) where name.number == next.number {
      throw StoreError(
        .corrupt, "The series \(held.name) has two files of one number: \(name.text) and \(next.text)",
        operation: "backup")
    }
    return names
  }

  fileprivate func open(_ name: Name) throws(StoreError) -> BackupFile {
    let file = try BackupFile(name.text, in: held)
    guard file.header.number == name.number, file.header.isBase == name.isBase else {
      let kind = file.header.isBase ? "base" : "increment"
      throw BackupFile.damaged(
        file.path, at: 0, "it is the \(kind) \(file.header.number), under the name of another one")
    }
    return file
  }

  /// The points, in order, by the headers and ends of their files.
  ///
  /// - Throws: `corrupt` with the file and the byte; `permission`, `io`.
  func points() throws(StoreError) -> [BackupPoint] {
    var points: [BackupPoint] = []
    for name in try names() { points.append(try open(name).point(name.text)) }
    return points
  }

  /// The files from the base up to a point, each checked to follow the one before it.
  ///
  /// - Parameters:
  ///   - number: The point.
  ///   - visit: Called with each file, the oldest first; returns the file's checksum.
  /// - Returns: The files, and the checksum of the last one.
  /// - Throws: `corrupt` with the file; `notFound` if a file is missing; what `visit` throws.
  func chain(
    to number: Int, _ visit: (BackupFile) throws -> UInt64
  ) throws -> (files: [BackupFile], sum: UInt64) {
    let names = try names()
    guard let last = names.firstIndex(where: { $0.number == number }) else { throw missing(number) }
    guard let first = names[...last].lastIndex(where: \.isBase) else {
      throw StoreError(
        .notFound, "The series \(held.name) has no base for \(names[last].text)", operation: "backup")
    }
    var files: [BackupFile] = []
    var sum: UInt64 = 0
    for name in names[first...last] {
      let file = try open(name)
      if let before = files.last {
        guard name.number == before.header.number + 1 else { throw missing(before.header.number + 1) }
        guard file.header.key == before.header.key, file.header.previous == sum,
          file.header.pageBytes == before.header.pageBytes
        else {
          throw BackupFile.damaged(file.path, at: 0, "it does not follow \(before.path)")
        }
      }
      sum = try visit(file)
      files.append(file)
    }
    return (files, sum)
  }

  private func missing(_ number: Int) -> StoreError {
    StoreError(.notFound, "The series \(held.name) has no point \(number)", operation: "backup")
  }

  /// The number of the point that is meant.
  ///
  /// - Throws: `notFound` if there is none; `corrupt` if a file's header cannot be read, which may be the
  ///   one.
  func number(_ moment: BackupMoment) throws(StoreError) -> Int {
    if case .number(let number) = moment { return number }
    let found = try points().last { point in
      switch moment {
      case .newest, .number: true
      case .time(let time): point.time <= time
      case .sequence(let sequence): point.sequence <= sequence
      }
    }
    guard let found else {
      throw StoreError(.notFound, "The series \(held.name) does not have \(moment)", operation: "backup")
    }
    return found.number
  }

  /// What the next increment is compared with.
  struct Known {
    /// The last file's header, and the checksum of the file.
    let last: BackupHeader
    let sum: UInt64
    /// The checksums of all pages by number; 0 for a page that no file has.
    let pages: [UInt64]
  }

  /// Reads the checksums of all pages of the newest point.
  ///
  /// - Returns: `nil` if the series has no point yet.
  /// - Throws: `corrupt` or `notFound` with the file that is damaged or missing; `io`.
  /// - Complexity: eight bytes of memory a page of the store; the pages themselves are not read.
  func newest() throws -> Known? {
    guard let name = try names().last else { return nil }
    var pages: [UInt64] = []
    let (files, sum) = try chain(to: name.number) { file in
      if pages.count < file.header.pageCount {
        pages += [UInt64](repeating: 0, count: file.header.pageCount - pages.count)
      }
      return try file.forEachBlock { block in for page in block.pages { pages[page.number] = page.sum } }
    }
    guard let last = files.last else { return nil }
    return Known(last: last.header, sum: sum, pages: pages)
  }
}

extension BackupSeries {
  /// The header of the newest file; `nil` if the series has no point yet.
  ///
  /// - Throws: `corrupt` with the file and the byte; `permission`, `io`.
  func lastHeader() throws(StoreError) -> BackupHeader? {
    guard let name = try names().last else { return nil }
    return try open(name).header
  }
}
