import CLMDB
import Platform

/// The engine's file, read page by page with checks of its own.
///
/// The engine trusts its pages: a flipped bit in a page header makes it read past the page, or end the
/// process. This code trusts nothing.
///
/// Source: the structures of `mdb.c` in LMDB 0.9, on 64-bit little-endian systems.
struct PageFile {
  /// The engine's record of a table.
  struct Tree {
    let flags: Int
    let depth: Int
    let branchPages: Int
    let leafPages: Int
    let overflowPages: Int
    let entries: Int
    let root: Int

    static let byteCount = 48
    private static let noPage = -1

    /// - Parameter bytes: The record; has ``byteCount`` bytes.
    init(_ bytes: RawSpan) {
      func count(_ offset: Int) -> Int {
        let number = bytes.littleEndian64(offset)
        return number < 1 << 48 ? Int(number) : -1
      }
      let start = bytes.littleEndian64(0)
      flags = Int(truncatingIfNeeded: start >> 32) & 0xFFFF
      depth = Int(truncatingIfNeeded: start >> 48)
      branchPages = count(8)
      leafPages = count(16)
      overflowPages = count(24)
      entries = count(32)
      root = Int(truncatingIfNeeded: bytes.littleEndian64(40))
    }

    init(_ bytes: [UInt8], at offset: Int) {
      flags = bytes.number16(offset + 4)
      depth = bytes.number16(offset + 6)
      branchPages = bytes.count(offset + 8)
      leafPages = bytes.count(offset + 16)
      overflowPages = bytes.count(offset + 24)
      entries = bytes.count(offset + 32)
      root = Int(truncatingIfNeeded: bytes.number(offset + 40))
    }

    var isEmpty: Bool { root == Self.noPage }
    /// Whether root, depth and entry count agree on whether the tree is empty.
    var isPlausible: Bool { isEmpty == (entries == 0) && isEmpty == (depth == 0) }
  }

  /// One of the two meta pages: it says where a commit's trees are.
  struct Meta {
    let page: Int
    /// The page size that the meta page states.
    let pageBytes: Int
    let transaction: UInt64
    let freeList: Tree
    let tables: Tree
    let lastPage: Int

    private static let magic: UInt32 = 0xBEEF_C0DE
    private static let version: UInt32 = 1

    init?(_ bytes: [UInt8], page: Int) {
      guard bytes.number32(16) == Self.magic, bytes.number32(20) == Self.version else { return nil }
      self.page = page
      pageBytes = Int(bytes.number32(40))
      freeList = Tree(bytes, at: 40)
      tables = Tree(bytes, at: 88)
      lastPage = bytes.count(136)
      transaction = bytes.number(144)
    }
  }

  let meta: Meta
  let pageCount: Int
  /// The file's page size.
  let pageBytes: Int
  private let descriptor: Int32
  /// The length of a page header: the page's number, its kind, and its free space.
  static let headerBytes = 16

  /// Reads where the trees of a commit are; `nil` if neither meta page says so.
  ///
  /// - Parameters:
  ///   - descriptor: The open file.
  ///   - transaction: The commit to read; `nil` for the newest.
  ///   - damaged: Gets what is wrong with the two meta pages; this is meaningful only while no transaction
  ///     writes.
  /// - Throws: What `damaged` throws.
  init?<E: Error>(
    _ descriptor: Int32, transaction: UInt64? = nil, damaged: (PageDamage) throws(E) -> Void
  ) throws(E) {
    let pageBytes = PageSize.of(descriptor)
    var metas: [Meta] = []
    for page in 0..<Environment.metaPages {
      let bytes = Self.read(descriptor, at: page * pageBytes, count: pageBytes)
      guard let bytes, let meta = Meta(bytes, page: page) else {
        try damaged(PageDamage(page: page, what: "it is no meta page"))
        continue
      }
      metas.append(meta)
    }
    if let first = metas.first, let second = metas.last, metas.count == 2, !Self.isPair(first, second) {
      try damaged(PageDamage(page: 0, what: "the two meta pages do not follow each other"))
    }
    if let transaction { metas.removeAll { $0.transaction != transaction } }
    guard let meta = metas.max(by: { $0.transaction < $1.transaction }), meta.lastPage >= 1 else {
      return nil
    }
    self.meta = meta
    self.descriptor = descriptor
    self.pageBytes = pageBytes
    let there = Self.pageCount(of: descriptor, pageBytes: pageBytes)
    let isPossible = meta.lastPage < there + Self.unwrittenPages
    if !isPossible {
      try damaged(PageDamage(page: meta.page, what: "it counts pages that the file does not have"))
    }
    pageCount = isPossible ? meta.lastPage + 1 : there
  }

  /// Pages at the end that one transaction may have allocated and freed without ever writing them.
  static let unwrittenPages = 1 << 20

  static func pageCount(of descriptor: Int32, pageBytes: Int) -> Int {
    var status = stat()
    // SAFETY: the call fills the local structure.
    guard unsafe fstat(descriptor, &status) == 0 else { return 0 }
    return max(Int(status.st_size) / pageBytes, Environment.metaPages)
  }

  /// Whether two meta pages fit: commits write them in turn, so they are one transaction apart.
  private static func isPair(_ first: Meta, _ second: Meta) -> Bool {
    let newest = max(first.transaction, second.transaction)
    let oldest = min(first.transaction, second.transaction)
    let page = newest == first.transaction ? 0 : 1
    return newest == oldest || (newest - oldest == 1 && newest % 2 == UInt64(page))
  }

  /// The bytes of `count` pages; `nil` if the file does not have them.
  func pages(_ number: Int, _ count: Int = 1) -> [UInt8]? {
    guard number >= 0, count >= 1, number < pageCount, count <= pageCount - number else { return nil }
    return Self.read(descriptor, at: number * pageBytes, count: count * pageBytes)
  }

  /// Requests read-ahead for pages that will be read soon, so that a disk can fetch many at a time.
  func announce(_ pages: [Int]) {
    guard pages.count > 1 else { return }
    for page in pages where page >= 0 && page < pageCount {
      let offset = off_t(page * pageBytes)
      #if canImport(Darwin)
        var advice = radvisory(ra_offset: offset, ra_count: Int32(pageBytes))
        // SAFETY: the call reads the local structure.
        _ = unsafe fcntl(descriptor, F_RDADVISE, &advice)
      #else
        _ = posix_fadvise(descriptor, offset, off_t(pageBytes), POSIX_FADV_WILLNEED)
      #endif
    }
  }

  /// The number of pages for a value of this length.
  func pageCount(forValue byteCount: Int) -> Int { Self.pageCount(forValue: byteCount, pageBytes: pageBytes) }

  /// The number of pages of `pageBytes` for a value of this length.
  static func pageCount(forValue byteCount: Int, pageBytes: Int) -> Int {
    (headerBytes - 1 + byteCount) / pageBytes + 1
  }

  static func read(_ descriptor: Int32, at offset: Int, count: Int) -> [UInt8]? {
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { room, done in
      while done < count {
        // SAFETY: the call writes at most the bytes that are left of the room.
        let got = unsafe pread(
          descriptor, room.baseAddress?.advanced(by: done), count - done, off_t(offset + done))
        if got < 0, errno == EINTR { continue }
        guard got > 0 else { return }
        done += got
      }
    }
    return bytes.count == count ? bytes : nil
  }
}

/// A damaged page of the file, and what is wrong with it.
struct PageDamage: Error, Hashable {
  let page: Int
  let what: String

  var message: String { "Page \(page) of the store's file is damaged: \(what)" }
}

extension [UInt8] {
  private func load<N: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as type: N.Type) -> N {
    guard offset >= 0, offset + MemoryLayout<N>.size <= count else { return 0 }
    // SAFETY: inside the array, as the line above says; integers have no invalid bits.
    return N(littleEndian: unsafe rawBytes.unsafeLoadUnaligned(fromByteOffset: offset, as: N.self))
  }

  /// Reads one of the engine's numbers; 0 if the bytes end before it.
  func number(_ offset: Int) -> UInt64 { load(offset, as: UInt64.self) }
  func number32(_ offset: Int) -> UInt32 { load(offset, as: UInt32.self) }
  func number16(_ offset: Int) -> Int { Int(load(offset, as: UInt16.self)) }
  /// Reads a number of pages or entries; an impossible one is negative, and so out of every range.
  func count(_ offset: Int) -> Int { number(offset) < 1 << 48 ? Int(number(offset)) : -1 }
}

extension RawSpan {
  @inline(__always)
  fileprivate func littleEndian64(_ offset: Int) -> UInt64 {
    // SAFETY: the span checks the bounds.
    UInt64(littleEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }
}
