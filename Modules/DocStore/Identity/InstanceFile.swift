import CRDTCore
import Platform

/// The file `instance` beside the data: it shows whether the data, or this file, was put back or copied.
///
/// The data contains a nonce that changes with each session that writes. This file contains that nonce and
/// the next one, so that a crash between the two writes is not a mismatch. It also contains the marks of its
/// data file and of itself, which copies of these files cannot have.
struct InstanceFile: Hashable, Sendable {
  /// The nonce in the data, unless the data already has ``next``.
  var nonce: UInt64
  /// The nonce that the data gets with the next session's first commit.
  var next: UInt64
  /// A commit that the data certainly includes.
  var sequence: UInt64 = 0
  /// The random number of that commit.
  var commitID: UInt64 = 0
  /// The data file, and the file that is about to replace it.
  var data: FileMark
  var nextData = FileMark.none

  private static let formatVersion: UInt32 = 1
  private static let byteCount = 112

  /// The result of reading the file.
  enum Finding: Equatable {
    case missing
    case damaged
    /// It is intact, but a copy of the file that was written.
    case copy(InstanceFile)
    case found(InstanceFile)
  }

  /// Reads the file at `path`.
  static func read(_ path: String) throws(StoreError) -> Finding {
    // SAFETY: the path is read during the call only.
    let descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return .missing }
      if errno == ELOOP { return .damaged }
      throw StoreError(engine: errno, "open", path: path)
    }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: byteCount + 1)
    // SAFETY: the call writes at most as many bytes as there is room.
    let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, 0) }
    guard count >= 0 else { throw StoreError(engine: errno, "read", path: path) }
    guard count == byteCount else { return .damaged }
    bytes.removeLast()
    return decode(bytes, own: try FileMark(descriptor))
  }

  /// Replaces the file atomically: afterwards either the new file or the old one is there.
  func replace(_ files: StoreFiles) throws(StoreError) {
    let draft = files.instance + ".new"
    _ = unsafe unlink(draft)
    // SAFETY: the path is read during the call only.
    let descriptor = unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw StoreError(engine: errno, "open", path: draft) }
    do throws(StoreError) {
      defer { close(descriptor) }
      try write(to: descriptor)
      guard fsync(descriptor) == 0 else { throw StoreError(engine: errno, "fsync") }
    } catch {
      _ = unsafe unlink(draft)
      throw error
    }
    guard unsafe rename(draft, files.instance) == 0 else {
      let rc = errno
      _ = unsafe unlink(draft)
      throw StoreError(engine: rc, "rename", path: files.instance)
    }
    try files.syncDirectory()
  }

  /// Overwrites the existing file without a sync.
  ///
  /// The file fits in one disk sector, so a crash does not leave it half written.
  func overwrite(_ files: StoreFiles) throws(StoreError) {
    // SAFETY: the path is read during the call only.
    let descriptor = unsafe open(files.instance, O_WRONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreError(engine: errno, "open", path: files.instance) }
    defer { close(descriptor) }
    try write(to: descriptor)
  }

  private func write(to descriptor: Int32) throws(StoreError) {
    let bytes = encode(own: try FileMark(descriptor))
    // SAFETY: the call reads the array during the call only.
    let count = unsafe bytes.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    guard count == bytes.count else { throw StoreError(engine: count < 0 ? errno : ENOSPC, "pwrite") }
  }

  private func encode(own: FileMark) -> [UInt8] {
    var out = ByteWriter(capacity: Self.byteCount)
    out.writeFixed(Self.formatVersion)
    for word in [nonce, next, sequence, commitID] { out.writeFixed(word) }
    for mark in [own, data, nextData] { mark.write(to: &out) }
    out.writeFixed(SmallRecord.check(out.bytes.rawBytes, Self.key.rawBytes))
    return out.bytes
  }

  private static let key = Array("instance".utf8)

  private static func decode(_ bytes: [UInt8], own: FileMark) -> Finding {
    let checked = Array(bytes.dropLast(4))
    var reader = ByteReader(bytes.rawBytes)
    do throws(CodecError) {
      guard try reader.readFixed(as: UInt32.self) == formatVersion else { return .damaged }
      var file = InstanceFile(nonce: try reader.readFixed(), next: try reader.readFixed(), data: .none)
      file.sequence = try reader.readFixed()
      file.commitID = try reader.readFixed()
      let mark = try FileMark(&reader)
      file.data = try FileMark(&reader)
      file.nextData = try FileMark(&reader)
      guard try reader.readFixed(as: UInt32.self) == SmallRecord.check(checked.rawBytes, key.rawBytes) else {
        return .damaged
      }
      return mark == own ? .found(file) : .copy(file)
    } catch {
      return .damaged
    }
  }
}
