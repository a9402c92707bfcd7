import CRDTCore
import Platform

/// A complete file of a backup series, open for reading; nothing in it is trusted.
///
/// `Documentation/FileFormat.md` has the format.
final class BackupFile {
  /// The path for messages.
  let path: String
  let header: BackupHeader
  let byteCount: Int
  private let descriptor: Int32
  private let headerBytes: Int

  /// A group of pages in the file.
  struct Block {
    /// The number and the checksum of each page.
    let pages: [(number: Int, sum: UInt64)]
    /// The offset of the first page's bytes.
    let offset: Int
  }

  /// The greatest number of pages of a block.
  static let blockPages = 256
  private static let countBytes = 4
  private static let entryBytes = 16
  /// The end of the file: no pages, the number of pages in the file, and the checksum of the file.
  static let endBytes = 20

  /// Opens a file and reads its header.
  ///
  /// - Throws: `corrupt` with the file and the byte; what the system reports.
  init(_ name: String, in directory: HeldDirectory) throws(StoreError) {
    path = "\(directory.name)/\(name)"
    // SAFETY: the name is read during the call only.
    descriptor = unsafe openat(directory.descriptor, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreError(engine: errno, "open", path: path) }
    var status = stat()
    do throws(StoreError) {
      // SAFETY: the call fills the local structure.
      guard unsafe fstat(descriptor, &status) == 0 else {
        throw StoreError(engine: errno, "fstat", path: path)
      }
      byteCount = Int(status.st_size)
      let prefix = try Self.read(descriptor, path, at: 0, count: BackupHeader.prefixBytes, of: byteCount)
      do throws(CodecError) {
        headerBytes =
          BackupHeader.prefixBytes + (try BackupHeader.fieldCount(prefix)) + BackupHeader.sumBytes
      } catch { throw Self.damaged(path, at: error.offset, error.message) }
      let bytes = try Self.read(descriptor, path, at: 0, count: headerBytes, of: byteCount)
      do throws(CodecError) { header = try BackupHeader(bytes) } catch {
        throw Self.damaged(path, at: error.offset, error.message)
      }
    } catch {
      close(descriptor)
      throw error
    }
  }

  deinit { close(descriptor) }

  /// The error for a file that is not as it was written.
  static func damaged(_ path: String, at offset: Int, _ what: String) -> StoreError {
    StoreError(
      .corrupt, "The backup file \(path) is damaged at byte \(offset): \(what)", operation: "backup")
  }

  private func damaged(at offset: Int, _ what: String) -> StoreError {
    Self.damaged(path, at: offset, what)
  }

  private static func read(
    _ descriptor: Int32, _ path: String, at offset: Int, count: Int, of byteCount: Int
  ) throws(StoreError) -> [UInt8] {
    guard count <= byteCount - offset else {
      throw damaged(path, at: byteCount, "it ends before it is complete")
    }
    guard let bytes = PageFile.read(descriptor, at: offset, count: count) else {
      throw StoreError(.io, "Reading \(path) failed at byte \(offset)", operation: "pread")
    }
    return bytes
  }

  private func read(at offset: Int, _ count: Int) throws(StoreError) -> [UInt8] {
    try Self.read(descriptor, path, at: offset, count: count, of: byteCount)
  }

  /// The number of pages in the file, and its checksum, as its end states them.
  ///
  /// - Throws: `corrupt` if it has no end.
  func end() throws(StoreError) -> (pageCount: Int, sum: UInt64) {
    guard byteCount >= headerBytes + Self.endBytes else {
      throw damaged(at: byteCount, "it ends before it is complete")
    }
    let offset = byteCount - Self.endBytes
    let bytes = try read(at: offset, Self.endBytes)
    var reader = ByteReader(bytes.rawBytes)
    guard let mark = try? reader.readFixed(as: UInt32.self), mark == 0,
      let pageCount = try? reader.readFixed(as: UInt64.self), pageCount < 1 << 48,
      let sum = try? reader.readFixed(as: UInt64.self)
    else { throw damaged(at: offset, "it ends before it is complete") }
    return (Int(pageCount), sum)
  }

  /// Visits the blocks in order, without the bytes of the pages, and checks that the file is complete.
  ///
  /// - Returns: The file's checksum.
  /// - Throws: `corrupt` with the file and the byte; what `body` throws.
  @discardableResult
  func forEachBlock(_ body: (Block) throws -> Void) throws -> UInt64 {
    var sum = header.key.hash(header.bytes.rawBytes)
    var offset = headerBytes
    var total = 0
    while true {
      let start = offset
      let count = try count(at: &offset)
      guard count > 0 else { break }
      guard count <= Self.blockPages else { throw damaged(at: start, "a block has \(count) pages") }
      let length = count * Self.entryBytes
      let bytes = try read(at: start, Self.countBytes + length + BackupHeader.sumBytes)
      let listed = header.key.hash(bytes.rawBytes.extracting(0..<Self.countBytes + length))
      var end = ByteReader(bytes.rawBytes, offset: Self.countBytes + length)
      guard try end.readFixed(as: UInt64.self) == listed else {
        throw damaged(at: start, "the checksum of a list of pages does not hold")
      }
      sum = Self.fold(sum, listed, header.key)
      var reader = ByteReader(bytes.rawBytes, offset: Self.countBytes)
      var pages: [(number: Int, sum: UInt64)] = []
      pages.reserveCapacity(count)
      for _ in 0..<count {
        let number: UInt64 = try reader.readFixed()
        guard number >= UInt64(Environment.metaPages), number < UInt64(header.pageCount) else {
          throw damaged(at: start, "it has a page that the store does not have")
        }
        pages.append((Int(number), try reader.readFixed()))
      }
      offset = start + bytes.count
      guard byteCount - offset >= count * header.pageBytes else {
        throw damaged(at: byteCount, "it ends before it is complete")
      }
      try body(Block(pages: pages, offset: offset))
      offset += count * header.pageBytes
      total += count
    }
    let end = try end()
    sum = Self.fold(sum, UInt64(total), header.key)
    guard offset == byteCount - Self.endBytes + Self.countBytes else {
      throw damaged(at: offset, "something follows its end")
    }
    guard end.pageCount == total, end.sum == sum else {
      throw damaged(at: offset, "the checksum of the file does not hold")
    }
    return sum
  }

  /// Reads a block's count of pages and moves behind it.
  private func count(at offset: inout Int) throws(StoreError) -> Int {
    let bytes = try read(at: offset, Self.countBytes)
    offset += Self.countBytes
    return bytes.reduce(0) { $0 << 8 | Int($1) }
  }

  /// Reads the bytes of a block's pages, and checks each page.
  ///
  /// - Throws: `corrupt` with the file and the byte.
  func pages(_ block: Block) throws(StoreError) -> [UInt8] {
    let size = header.pageBytes
    let bytes = try read(at: block.offset, block.pages.count * size)
    for (index, page) in block.pages.enumerated() {
      let range = index * size..<(index + 1) * size
      guard BackupFile.sum(bytes.rawBytes.extracting(range), header.key) == page.sum else {
        throw damaged(
          at: block.offset + range.lowerBound, "the checksum of the page \(page.number) does not hold")
      }
    }
    return bytes
  }

  /// The checksum of a page; never 0, which stands for a page that a series does not have.
  static func sum(_ page: RawSpan, _ key: SipHash) -> UInt64 { max(key.hash(page), 1) }

  /// Adds a block's checksum to the file's.
  static func fold(_ sum: UInt64, _ next: UInt64, _ key: SipHash) -> UInt64 {
    var writer = ByteWriter()
    writer.writeFixed(sum)
    writer.writeFixed(next)
    return key.hash(writer.bytes.rawBytes)
  }

  /// The point that the file stands for.
  ///
  /// - Throws: `corrupt` if it has no end.
  func point(_ name: String) throws(StoreError) -> BackupPoint {
    BackupPoint(
      number: header.number, isBase: header.isBase, time: header.time, sequence: header.sequence,
      commitID: header.commitID, site: header.site, label: header.label, file: name, fileBytes: byteCount,
      pageCount: try end().pageCount, storePageCount: header.pageCount)
  }
}
