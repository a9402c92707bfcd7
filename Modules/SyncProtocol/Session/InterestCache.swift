import CRDTCore
import Synchronization

/// The interests of peers that were connected before.
///
/// With them, a returning peer need not send its interest again.
///
/// The cache keeps the queries in encoded form, one contiguous buffer per interest, to avoid fragmenting the
/// heap. A session decodes them when the peer returns.
///
/// The size is bounded in encoded bytes: the least recently used interests are evicted, and long ones are not
/// kept at all. A session asks a peer for its interest when the cache does not have it.
final class InterestCache: Sendable {
  struct Key: Hashable {
    let site: SiteID
    let interest: UInt64
  }

  private struct Entry {
    let key: Key
    let bytes: [UInt8]
    let isEmpty: Bool
    let byteCount: Int
  }

  private let entries = Mutex<[Entry]>([])

  /// The bytes of all interests in the cache.
  var byteCount: Int { entries.withLock { $0.reduce(0) { $0 + $1.byteCount } } }

  /// Stores a peer's interest, which took `byteCount` bytes on the wire.
  func insert(_ interest: Interest, byteCount: Int, of site: SiteID) {
    let isKept = byteCount <= SyncLimits.knownInterestBytes / 4
    var out = ByteWriter(capacity: isKept ? byteCount + 16 : 0)
    if isKept { for query in interest.encodings { out.writeBlob(query) } }
    let entry = Entry(
      key: Key(site: site, interest: interest.hash), bytes: out.bytes, isEmpty: interest.encodings.isEmpty,
      byteCount: byteCount)
    entries.withLock { entries in
      entries.removeAll { $0.key == entry.key }
      guard isKept else { return }
      entries.append(entry)
      var total = entries.reduce(0) { $0 + $1.byteCount }
      while total > SyncLimits.knownInterestBytes || entries.count > SyncLimits.knownInterests {
        total -= entries.removeFirst().byteCount
      }
    }
  }

  /// Returns whether the last known interest of a site is not empty.
  func hasInterest(of site: SiteID) -> Bool {
    entries.withLock { entries in entries.last { $0.key.site == site }.map { !$0.isEmpty } ?? false }
  }

  /// Returns the encoded queries of a site's interest with the given hash, or `nil` if they are not cached.
  func queries(_ hash: UInt64, of site: SiteID) -> [[UInt8]]? {
    let key = Key(site: site, interest: hash)
    let bytes: [UInt8]? = entries.withLock { entries in
      guard let index = entries.firstIndex(where: { $0.key == key }) else { return nil }
      let entry = entries.remove(at: index)
      entries.append(entry)
      return entry.bytes
    }
    return bytes.map { bytes in
      var reader = ByteReader(bytes.span.bytes)
      var queries: [[UInt8]] = []
      while !reader.isAtEnd, let query = try? reader.readBlob() { queries.append(query.copied) }
      return queries
    }
  }
}
