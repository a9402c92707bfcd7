/// The entries of a page, whatever the page's kind and number, and however many entries are damaged.
///
/// The entries must have checksums of their own. The page header is trusted for where the entries begin and
/// end: between the list of offsets and the first entry there are bytes of removed entries.
struct StrayEntries: Sequence, IteratorProtocol {
  private let file: PageFile
  private let bytes: [UInt8]
  /// The location of the next entry's offset.
  private var place = PageFile.headerBytes
  /// Where the list of offsets ends.
  private let end: Int
  /// Where the entries begin.
  private let start: Int

  private static let nodeBytes = 8

  init(_ file: PageFile, page: Int) {
    self.file = file
    bytes = file.pages(page) ?? []
    start = bytes.number16(14)
    end = Swift.min(bytes.number16(12), start, bytes.count)
  }

  mutating func next() -> (key: [UInt8], value: [UInt8])? {
    while place + 2 <= end {
      let offset = bytes.number16(place)
      place += 2
      if offset % 2 == 0, offset >= start, let entry = entry(at: offset) { return entry }
    }
    return nil
  }

  private func entry(at start: Int) -> (key: [UInt8], value: [UInt8])? {
    guard start + Self.nodeBytes <= bytes.count else { return nil }
    let byteCount = bytes.number16(start) | bytes.number16(start + 2) << 16
    let flags = bytes.number16(start + 4)
    let key = start + Self.nodeBytes..<start + Self.nodeBytes + bytes.number16(start + 6)
    guard key.upperBound <= bytes.count, flags & ~TreePage.Flag.longValue == 0 else { return nil }
    if flags == 0 {
      guard byteCount <= bytes.count - key.upperBound else { return nil }
      return (Array(bytes[key]), Array(bytes[key.upperBound..<key.upperBound + byteCount]))
    }
    let page = bytes.count(key.upperBound)
    guard let long = file.pages(page, file.pageCount(forValue: byteCount)), long.count(0) == page else {
      return nil
    }
    return (Array(bytes[key]), Array(long[PageFile.headerBytes..<PageFile.headerBytes + byteCount]))
  }
}
