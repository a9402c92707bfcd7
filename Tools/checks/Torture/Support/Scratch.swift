import Glibc

/// A directory of its own, removed with all it holds by ``remove()``.
struct Scratch {
  let path: String

  /// Makes a directory; on a memory file system where there is one, since what is tested is not the disk.
  init(in parent: String? = nil) throws {
    let parent = parent ?? (access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp")
    var template = Array("\(parent)/torture-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw Failure(.harness, "no directory in \(parent): errno \(errno)")
    }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  func file(_ name: String) -> String { path + "/" + name }

  func remove() { Files.removeTree(path) }

  /// Runs `body` with a directory that is gone afterwards; with `TORTURE_KEEP` set, what has failed is kept.
  static func with<R>(_ body: (Scratch) throws -> R) throws -> R {
    let scratch = try Scratch()
    do {
      let result = try body(scratch)
      scratch.remove()
      return result
    } catch {
      if getenv("TORTURE_KEEP") != nil {
        Child.write("\(scratch.path) is kept: \(Failure(wrapping: error))\n", to: STDERR_FILENO)
      } else {
        scratch.remove()
      }
      throw error
    }
  }
}

/// Whole files and directories.
enum Files {
  static func read(_ path: String) throws -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Failure(.harness, "cannot open \(path): errno \(errno)") }
    defer { close(descriptor) }
    let size = Int(lseek(descriptor, 0, SEEK_END))
    return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      count = max(0, pread(descriptor, buffer.baseAddress, size, 0))
    }
  }

  static func write(_ bytes: [UInt8], to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Failure(.harness, "cannot make \(path): errno \(errno)") }
    defer { close(descriptor) }
    guard bytes.withUnsafeBytes({ Glibc.write(descriptor, $0.baseAddress, $0.count) }) == bytes.count else {
      throw Failure(.harness, "cannot write \(path): errno \(errno)")
    }
  }

  /// The names of what a directory holds; empty where there is none.
  static func names(in path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  static func removeTree(_ path: String) {
    for name in names(in: path) {
      let child = path + "/" + name
      if unlink(child) != 0 { removeTree(child) }
    }
    rmdir(path)
  }
}
