import Synchronization

@testable import Links

/// A discovery for peers of one process: all that are on it find each other at once, on 127.0.0.1.
final class DiscoveryBoard: PeerDiscovery {
  struct Entry {
    let advertisement: PeerAdvertisement
    let report: @Sendable (DiscoveryEvent) -> Void

    var tag: String { advertisement.tag(5) }
    var candidate: PeerCandidate {
      PeerCandidate(
        id: advertisement.instance,
        endpoints: PeerCandidate.Endpoint(host: "127.0.0.1", port: advertisement.port).map { [$0] } ?? [])
    }
  }

  private let entries = Mutex<[Int: Entry]>([:])

  /// What is advertised now.
  var advertised: [PeerAdvertisement] { entries.withLock { $0.values.map(\.advertisement) } }

  func start(
    _ advertisement: PeerAdvertisement, report: @escaping @Sendable (DiscoveryEvent) -> Void
  ) -> any DiscoverySession {
    let own = Entry(advertisement: advertisement, report: report)
    let (id, others) = entries.withLock { entries in
      let others = entries.values.filter { $0.tag == own.tag }
      let id = (entries.keys.max() ?? 0) + 1
      entries[id] = own
      return (id, others)
    }
    report(.conditions([]))
    for other in others {
      report(.found(other.candidate))
      other.report(.found(own.candidate))
    }
    return Session(board: self, id: id)
  }

  /// Tells everybody something.
  func tellAll(_ event: DiscoveryEvent) {
    for entry in entries.withLock({ Array($0.values) }) { entry.report(event) }
  }

  private struct Session: DiscoverySession {
    let board: DiscoveryBoard
    let id: Int

    func stop() {
      let (own, others) = board.entries.withLock { ($0.removeValue(forKey: id), Array($0.values)) }
      guard let own else { return }
      for other in others where other.tag == own.tag { other.report(.lost(own.advertisement.instance)) }
    }
  }
}
