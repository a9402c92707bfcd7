import CRDTCore

/// Sites with consecutive ordinals, sorted by site, so that one is found by binary search.
///
/// It is an entry of the table `siteRuns`; its key is the first ordinal.
enum SiteRun {
  struct Member {
    let ordinal: UInt32
    let site: SiteID
  }

  /// The size of a site and its ordinal minus the first.
  private static let memberBytes = 18
  private static let checkBytes = 4

  static func encode(_ members: [Member], from first: UInt32) -> [UInt8] {
    var value = ByteWriter(capacity: members.count * memberBytes)
    for member in members.sorted(by: { $0.site < $1.site }) {
      value.write(member.site)
      value.writeFixed(UInt16(member.ordinal - first))
    }
    return value.bytes
  }

  /// The number of members of an entry; `nil` if it cannot be one.
  static func count(_ stored: RawSpan) -> Int? {
    let bytes = stored.byteCount - checkBytes
    return bytes >= 0 && bytes.isMultiple(of: memberBytes) ? bytes / memberBytes : nil
  }

  /// A member by its position.
  static func member(_ index: Int, of stored: RawSpan, from first: UInt32) -> Member {
    let start = index * memberBytes
    let distance = UInt16(
      bigEndian: unsafe stored.unsafeLoadUnaligned(fromByteOffset: start + 16, as: UInt16.self))
    let site = SiteID(
      high: UInt64(bigEndian: unsafe stored.unsafeLoadUnaligned(fromByteOffset: start, as: UInt64.self)),
      low: UInt64(bigEndian: unsafe stored.unsafeLoadUnaligned(fromByteOffset: start + 8, as: UInt64.self)))
    return Member(ordinal: first &+ UInt32(distance), site: site)
  }

  /// The ordinal of a site; `nil` if it is none of the `count` members.
  static func ordinal(of site: SiteID, in stored: RawSpan, _ count: Int, from first: UInt32) -> UInt32? {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      let member = member(middle, of: stored, from: first)
      if member.site == site { return member.ordinal }
      if member.site < site { low = middle + 1 } else { high = middle }
    }
    return nil
  }
}
