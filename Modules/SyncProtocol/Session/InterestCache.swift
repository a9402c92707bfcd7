import CRDTCore
import Synchronization

/// The interests of peers that were here, so that a peer which returns need not repeat its own.
///
/// It keeps their queries as they came, each interest in one piece of memory: a session takes them apart when the peer is
/// back, and what others have freed is not kept apart by many small pieces.
///
/// It is bounded in bytes, as they came: the least recently used are forgotten, and a long one is not kept at all. A peer
/// whose interest is not known is asked for it.
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

  /// Bytes of all that are kept.
  var byteCount: Int { entries.withLock { $0.reduce(0) { $0 + $1.byteCount } } }

  /// Remembers what a peer subscribes to, which took so many bytes on the wire.
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

  /// Whether a peer subscribed to anything when it last named its interest.
  func hasInterest(of site: SiteID) -> Bool {
    entries.withLock { entries in entries.last { $0.key.site == site }.map { !$0.isEmpty } ?? false }
  }

  /// What a peer subscribed to when it named its interest so, each query as it came.
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
