import CRDTCore
import Links

/// Decides which candidates to dial, and when; without sockets and without a clock.
///
/// A candidate whose peer is connected is not dialed. When two peers find each other, the one with the
/// smaller instance dials first. The other one dials only if that has not led to a connection.
struct CandidateBook {
  /// The source that named a candidate.
  enum Source: Hashable, Sendable {
    case discovery
    case application
  }

  /// Identifies a candidate.
  struct Key: Hashable, Sendable {
    let source: Source
    let id: String
  }

  /// A candidate to dial now.
  struct Attempt: Hashable, Sendable {
    let key: Key
    let candidate: PeerCandidate
  }

  private enum Phase {
    /// It is dialed at this time, unless its peer is connected.
    case waiting(until: Duration)
    /// It is being dialed, or the connection that was dialed still exists.
    case dialed
    /// Its peer is connected by a connection that either end has made.
    case connected(since: Duration)
  }

  private struct Entry {
    var candidate: PeerCandidate
    /// The site that was met there, or that the instance belongs to.
    var site: SiteID?
    var phase: Phase
    var backoff: Backoff
    var failures = 0
    /// A random order among candidates of equal rank.
    ///
    /// With it peers that start together do not dial the same one.
    let order: UInt64
    /// Whether it was withdrawn while it was dialed.
    var isGone = false
  }

  /// How long the peer with the greater instance waits for the other one to dial.
  static let crossingDelay = Duration.seconds(1)

  /// This peer's own instance.
  var ownInstance: String?
  private var entries: [Key: Entry] = [:]
  /// When the next candidate may be dialed that has never proved itself.
  private var nextUnproven = Duration.zero
  private let backoff: Backoff
  private let random: @Sendable () -> UInt64

  /// Starts without candidates.
  ///
  /// - Parameters:
  ///   - backoff: The delays between attempts for one candidate.
  ///   - random: The source of randomness.
  init(backoff: Backoff, random: @escaping @Sendable () -> UInt64 = { .random(in: 0 ... .max) }) {
    self.backoff = backoff
    self.random = random
  }

  // MARK: - Candidates

  /// Records a candidate, or new addresses of a known one.
  ///
  /// Beyond ``DiscoveryLimits/candidates`` of a source, candidates are ignored.
  ///
  /// - Parameters:
  ///   - candidate: The candidate.
  ///   - source: The source that names it.
  ///   - site: The candidate's site, if it is known.
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
      // The peer that was met at another address says nothing about the new one.
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

  /// Whether there is no candidate.
  var isEmpty: Bool { entries.isEmpty }

  /// Whether discovery has named a candidate before.
  func isKnown(_ id: String) -> Bool { entries[Key(source: .discovery, id: id)] != nil }

  /// Removes a candidate: it is no longer dialed, and a connection with it stays.
  mutating func withdraw(_ id: String, from source: Source) {
    let key = Key(source: source, id: id)
    if case .dialed = entries[key]?.phase { entries[key]?.isGone = true } else { entries[key] = nil }
  }

  /// Removes all candidates of a source.
  mutating func withdrawAll(from source: Source) {
    for key in entries.keys where key.source == source { withdraw(key.id, from: source) }
  }

  /// The instances of discovery whose site is unknown.
  var unknownInstances: [String] {
    entries.filter { $0.key.source == .discovery && $0.value.site == nil }.map(\.key.id)
  }

  /// Records which site an instance belongs to.
  mutating func record(instance: String, of site: SiteID) {
    entries[Key(source: .discovery, id: instance)]?.site = site
  }

  private func delay(_ key: Key) -> Duration {
    guard key.source == .discovery, let ownInstance, key.id < ownInstance else { return .zero }
    return Self.crossingDelay
  }

  // MARK: - Dialing

  /// Takes the candidates to dial now.
  ///
  /// - Parameters:
  ///   - connected: The sites that are connected.
  ///   - now: The time.
  /// - Returns: The attempts. The caller must record the end of each.
  /// - Complexity: O(*n* log *n*) in the candidates.
  mutating func takeDue(connected: Set<SiteID>, now: Duration) -> [Attempt] {
    var due: [Attempt] = []
    // Candidates that have failed do not delay new ones.
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

  /// When a candidate is to be dialed next.
  var next: Duration? {
    entries.compactMap { key, entry in
      guard case .waiting(let until) = entry.phase else { return nil }
      return isProven(key, entry) ? until : max(until, nextUnproven)
    }.min()
  }

  /// Records that an attempt is over, and the connection that it may have led to.
  ///
  /// - Parameters:
  ///   - key: The candidate.
  ///   - site: The peer that was met.
  ///   - wasOfUse: Whether the connection was useful.
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

  /// Whether a candidate has proved to be a peer, or the application has named it.
  private func isProven(_ key: Key, _ entry: Entry) -> Bool {
    key.source == .application || entry.site != nil
  }
}
