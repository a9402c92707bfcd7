import CLMDB
import CRDTCore
import Platform

/// Distinguishes a file from every copy of it: by its file system, its inode number and its creation time.
///
/// The file system is identified by its own id and not by its device number, which a restart may change. If
/// the file system assigns new inode numbers with each mount, all marks are ``none``, and distinguish
/// nothing.
struct FileMark: Hashable, Sendable {
  let fileSystem: UInt64
  let inode: UInt64
  /// Nanoseconds since 1970; 0 if the file system does not record the creation time.
  let birth: UInt64

  /// The mark of no file.
  static let none = FileMark(fileSystem: 0, inode: 0, birth: 0)

  private init(fileSystem: UInt64, inode: UInt64, birth: UInt64) {
    self.fileSystem = fileSystem
    self.inode = inode
    self.birth = birth
  }

  init(_ descriptor: Int32) throws(StoreError) {
    var status = stat()
    // SAFETY: the call fills the local structure.
    guard unsafe fstat(descriptor, &status) == 0 else { throw StoreError(engine: errno, "fstat") }
    guard FileSystemKind(descriptor).keepsNumbers else {
      (fileSystem, inode, birth) = (0, 0, 0)
      return
    }
    inode = UInt64(truncatingIfNeeded: status.st_ino)
    #if canImport(Darwin)
      fileSystem = UInt64(truncatingIfNeeded: status.st_dev)
      birth =
        UInt64(clamping: status.st_birthtimespec.tv_sec) &* 1_000_000_000
        &+ UInt64(clamping: status.st_birthtimespec.tv_nsec)
    #else
      fileSystem = dunlin_file_system(descriptor)
      birth = dunlin_file_birth(descriptor)
    #endif
  }

  /// The mark of the file at `path`.
  init(path: String) throws(StoreError) {
    // SAFETY: the path is read during the call only.
    let descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreError(engine: errno, "open", path: path) }
    defer { close(descriptor) }
    try self.init(descriptor)
  }

  /// The length of an open file.
  static func byteCount(_ descriptor: Int32) throws(StoreError) -> Int {
    var status = stat()
    // SAFETY: the call fills the local structure.
    guard unsafe fstat(descriptor, &status) == 0 else { throw StoreError(engine: errno, "fstat") }
    return Int(status.st_size)
  }

  init(_ reader: inout ByteReader) throws(CodecError) {
    fileSystem = try reader.readFixed()
    inode = try reader.readFixed()
    birth = try reader.readFixed()
  }

  func write(to out: inout ByteWriter) {
    out.writeFixed(fileSystem)
    out.writeFixed(inode)
    out.writeFixed(birth)
  }
}
