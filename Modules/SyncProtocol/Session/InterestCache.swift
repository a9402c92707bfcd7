import CRDTCore
import QueryEngine
import Synchronization

/// The interests of peers that were here, so that a peer which returns need not repeat its own.
///
/// It keeps their queries and not their matchers, which a session makes of them when the peer is back.
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
    let queries: [SubscriptionQuery]
    let byteCount: Int
  }

  /// Bytes of the wire beyond which an interest is not kept.
  static let entryBytes = SyncLimits.knownInterestBytes / 4

  private let entries = Mutex<[Entry]>([])

  /// Bytes of all that are kept.
  var byteCount: Int { entries.withLock { $0.reduce(0) { $0 + $1.byteCount } } }

  /// Remembers what a peer subscribes to, which took so many bytes on the wire.
  func insert(_ interest: Interest, byteCount: Int, of site: SiteID) {
    let entry = Entry(
      key: Key(site: site, interest: interest.hash), queries: interest.queries, byteCount: byteCount)
    entries.withLock { entries in
      entries.removeAll { $0.key == entry.key }
      guard byteCount <= Self.entryBytes else { return }
      entries.append(entry)
      var total = entries.reduce(0) { $0 + $1.byteCount }
      while total > SyncLimits.knownInterestBytes || entries.count > SyncLimits.knownInterests {
        total -= entries.removeFirst().byteCount
      }
    }
  }

  /// Whether a peer subscribed to anything when it last named its interest.
  func hasInterest(of site: SiteID) -> Bool {
    entries.withLock { entries in entries.last { $0.key.site == site }.map { !$0.queries.isEmpty } ?? false }
  }

  /// What a peer subscribed to when it named its interest so.
  func queries(_ hash: UInt64, of site: SiteID) -> [SubscriptionQuery]? {
    let key = Key(site: site, interest: hash)
    return entries.withLock { entries in
      guard let index = entries.firstIndex(where: { $0.key == key }) else { return nil }
      let entry = entries.remove(at: index)
      entries.append(entry)
      return entry.queries
    }
  }
}
