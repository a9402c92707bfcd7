import CRDTCore
import Synchronization

/// The interests of peers that were here, so that a peer which returns need not repeat its own.
///
/// The least recently used of them are forgotten.
final class InterestCache: Sendable {
  struct Key: Hashable {
    let site: SiteID
    let interest: UInt64
  }

  static let capacity = 64
  private let entries = Mutex<[(key: Key, interest: Interest)]>([])

  /// Remembers what a peer subscribes to.
  func insert(_ interest: Interest, of site: SiteID) {
    let key = Key(site: site, interest: interest.hash)
    entries.withLock { entries in
      entries.removeAll { $0.key == key }
      entries.append((key, interest))
      if entries.count > Self.capacity { entries.removeFirst() }
    }
  }

  /// Whether a peer subscribed to anything when it last named its interest.
  func hasInterest(of site: SiteID) -> Bool {
    entries.withLock { entries in entries.last { $0.key.site == site }.map { !$0.interest.isEmpty } ?? false }
  }

  /// What a peer subscribed to when it named its interest so.
  func interest(_ hash: UInt64, of site: SiteID) -> Interest? {
    let key = Key(site: site, interest: hash)
    return entries.withLock { entries in
      guard let index = entries.firstIndex(where: { $0.key == key }) else { return nil }
      let entry = entries.remove(at: index)
      entries.append(entry)
      return entry.interest
    }
  }
}
