import CRDTCore

/// Which candidates are dialed, and when: without sockets and without a clock.
///
/// A candidate whose peer is connected is not dialed. Of two peers that find each other the one with the smaller instance
/// dials first, and the other one only when that has not led to a connection.
struct CandidateBook {
  /// Who has named a candidate.
  enum Source: Hashable, Sendable {
    case discovery
    case application
  }

  /// Tells candidates apart.
  struct Key: Hashable, Sendable {
    let source: Source
    let id: String
  }

  /// What is dialed.
  struct Attempt: Hashable, Sendable {
    let key: Key
    let candidate: PeerCandidate
  }

  private enum Phase {
    /// It is dialed at this moment, unless its peer is connected.
    case waiting(until: Duration)
    /// It is dialed, or a connection that was made so stands.
    case dialed
    /// Its peer is connected, whoever made the connection.
    case connected(since: Duration)
  }

  private struct Entry {
    var candidate: PeerCandidate
    /// The site that was met there, or that the instance belongs to.
    var site: SiteID?
    var phase: Phase
    var backoff: Backoff
    var failures = 0
    /// Among candidates of equal standing chance decides, so that peers that start together do not dial the same one.
    let order: UInt64
    /// Whether it was withdrawn while it was dialed.
    var isGone = false
  }

  /// So long the peer with the greater instance leaves it to the other one to dial.
  static let crossingDelay = Duration.seconds(1)

  /// This peer's own instance.
  var ownInstance: String?
  private var entries: [Key: Entry] = [:]
  /// When the next candidate may be dialed that has never proved itself.
  private var nextUnproven = Duration.zero
  private let backoff: Backoff
  private let random: @Sendable () -> UInt64

  /// Knows no candidates.
  ///
  /// - Parameters:
  ///   - backoff: The delays between attempts for one candidate.
  ///   - random: The source of chance.
  init(backoff: Backoff, random: @escaping @Sendable () -> UInt64 = { .random(in: 0 ... .max) }) {
    self.backoff = backoff
    self.random = random
  }

  // MARK: - Candidates

  /// Takes a candidate, or where a known one is now; beyond ``DiscoveryLimits/candidates`` of a source it is passed over.
  ///
  /// - Parameters:
  ///   - candidate: Who may be where.
  ///   - source: Who says so.
  ///   - site: The peer that it is, where that is known.
  ///   - now: The time.
  mutating func record(
    _ candidate: PeerCandidate, from source: Source, site: SiteID? = nil, now: Duration
  ) {
    let key = Key(source: source, id: candidate.id)
    guard source == .application || candidate.id != ownInstance else { return }
    if var known = entries[key] {
      if known.candidate != candidate, case .waiting(let until) = known.phase {
        known.phase = .waiting(until: min(until, now + backoff.initial))
      }
      // What was met somewhere else says nothing of the new place.
      if known.candidate != candidate { known.site = site ?? (source == .application ? known.site : nil) }
      known.candidate = candidate
      known.isGone = false
      entries[key] = known
      return
    }
    guard entries.keys.count(where: { $0.source == source }) < DiscoveryLimits.candidates else { return }
    entries[key] = Entry(
      candidate: candidate, site: site, phase: .waiting(until: now + delay(key)), backoff: backoff,
      order: random())
  }

  /// Whether discovery has named a candidate before.
  func isKnown(_ id: String) -> Bool { entries[Key(source: .discovery, id: id)] != nil }

  /// Takes that a candidate is gone: it is dialed no more, and a connection with it stays.
  mutating func withdraw(_ id: String, from source: Source) {
    let key = Key(source: source, id: id)
    if case .dialed = entries[key]?.phase { entries[key]?.isGone = true } else { entries[key] = nil }
  }

  /// Takes that all candidates of a source are gone.
  mutating func withdrawAll(from source: Source) {
    for key in entries.keys where key.source == source { withdraw(key.id, from: source) }
  }

  /// The instances of discovery of which it is not known whose they are.
  var unknownInstances: [String] {
    entries.filter { $0.key.source == .discovery && $0.value.site == nil }.map(\.key.id)
  }

  /// Takes whose an instance is.
  mutating func record(instance: String, of site: SiteID) {
    entries[Key(source: .discovery, id: instance)]?.site = site
  }

  private func delay(_ key: Key) -> Duration {
    guard key.source == .discovery, let ownInstance, key.id < ownInstance else { return .zero }
    return Self.crossingDelay
  }

  // MARK: - Dialing

  /// Hands out whom to dial now.
  ///
  /// - Parameters:
  ///   - connected: The sites that are connected.
  ///   - now: The time.
  /// - Returns: The attempts, whose ends are to be recorded.
  /// - Complexity: O(*n* log *n*) in the candidates.
  mutating func takeDue(connected: Set<SiteID>, now: Duration) -> [Attempt] {
    var due: [Attempt] = []
    // Those that have failed do not keep new ones waiting.
    let keys = entries.sorted { a, b in
      a.value.failures == b.value.failures
        ? a.value.order < b.value.order : a.value.failures < b.value.failures
    }.map(\.key)
    for key in keys {
      guard var entry = entries[key] else { continue }
      let isConnected = entry.site.map(connected.contains) ?? false
      switch entry.phase {
      case .dialed: continue
      case .connected where isConnected: continue
      case .connected(let since):
        if now - since >= entry.backoff.resetAfter { entry.backoff.reset() }
        entry.phase = .waiting(until: now + delay(key) + entry.backoff.next())
      case .waiting where isConnected: entry.phase = .connected(since: now)
      case .waiting(let until):
        guard until <= now, isProven(key, entry) || nextUnproven <= now else { continue }
        if !isProven(key, entry) { nextUnproven = now + DiscoveryLimits.unprovenDialInterval }
        entry.phase = .dialed
        due.append(Attempt(key: key, candidate: entry.candidate))
      }
      entries[key] = entry
    }
    return due
  }

  /// When somebody is to be dialed next.
  var next: Duration? {
    entries.compactMap { key, entry in
      guard case .waiting(let until) = entry.phase else { return nil }
      return isProven(key, entry) ? until : max(until, nextUnproven)
    }.min()
  }

  /// Takes that an attempt is over, and the connection that it may have led to.
  ///
  /// - Parameters:
  ///   - key: Whom it was for.
  ///   - site: The peer that was met.
  ///   - wasOfUse: Whether the connection did its work.
  ///   - now: The time.
  mutating func record(endOf key: Key, site: SiteID?, wasOfUse: Bool, now: Duration) {
    guard var entry = entries[key] else { return }
    guard !entry.isGone else { return entries[key] = nil }
    if let site { entry.site = site }
    if wasOfUse {
      entry.backoff.reset()
      entry.failures = 0
    } else {
      entry.failures += 1
    }
    entry.phase = .waiting(until: now + entry.backoff.next())
    entries[key] = entry
  }

  /// Whether a candidate is more than somebody's word.
  private func isProven(_ key: Key, _ entry: Entry) -> Bool {
    key.source == .application || entry.site != nil
  }
}
