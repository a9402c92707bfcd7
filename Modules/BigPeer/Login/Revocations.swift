#if Server
  package import CRDTCore
  package import Foundation
  package import Links
  import Synchronization

  /// A device key that is no longer accepted.
  package struct Revocation: Hashable, Sendable {
    package let peerKey: PeerKey
    package let time: Date
    /// Who has revoked it, as the caller named it.
    package let source: String?
    package let reason: String?

    /// The entry for the audit log.
    fileprivate var event: LoginEvent {
      var event = LoginEvent(.revoked, at: time)
      (event.deviceKey, event.source, event.reason) = ("\(peerKey)", source, reason)
      return event
    }

    /// The fields of a JSON object.
    package var fields: [TextKey: Value] { event.fields }
  }

  /// The revoked device keys of an application: they get no certificate, and no session.
  ///
  /// A revocation is permanent: the device needs another key. If the big peer has an authority for logins,
  /// other peers of the application learn of it, too: ``share(by:)``. Otherwise the device can sync with them
  /// until its certificate expires.
  package final class Revocations: Sendable {
    private struct Entry {
      let revocation: Revocation
      var isStored = false
      /// Whether the audit log has the revocation, or a caller is about to write it there.
      var isAudited = false
    }

    /// The maximum length of a reason, and of a source, in bytes.
    package static let textBytes = 512

    private let storage: any LoginStorage
    private let audit: LoginAudit
    private let clock: LoginClock
    private let apply: @Sendable (Set<PeerKey>) -> Void
    private let revoked: Mutex<[PeerKey: Entry]>
    /// The revocation lists of the peer.
    private let lists = Mutex<(@Sendable () -> RevocationLists?)?>(nil)
    /// Makes revoked keys known to other peers.
    private let sharing = Mutex<(@Sendable (Set<PeerKey>) async throws -> Void)?>(nil)

    /// Reads the stored revocations, and applies them.
    ///
    /// - Parameters:
    ///   - storage: The storage of the revocations.
    ///   - audit: Gets an entry for each revocation.
    ///   - clock: The time.
    ///   - apply: Ends the sessions of keys, and refuses them from then on.
    /// - Throws: What the storage throws; `BigPeerError` for an entry that cannot be read, so that damage
    ///   admits no revoked key.
    package init(
      _ storage: any LoginStorage, audit: LoginAudit, clock: LoginClock = .system,
      apply: @escaping @Sendable (Set<PeerKey>) -> Void
    ) throws {
      var stored: [PeerKey: Revocation] = [:]
      try storage.read { tables in
        // A damaged entry is an error.
        try tables.forEach(.revocations, from: [], damaged: nil) { key, value in
          guard let revocation = Self.read(key, value) else {
            throw BigPeerError("a revoked key of the list cannot be read: restore the store from a backup")
          }
          stored[revocation.peerKey] = revocation
          return true
        }
      }
      self.storage = storage
      self.audit = audit
      self.clock = clock
      self.apply = apply
      revoked = Mutex(stored.mapValues { Entry(revocation: $0, isStored: true, isAudited: true) })
      if !stored.isEmpty { apply(Set(stored.keys)) }
    }

    /// Whether a key is revoked, here or by a revocation list.
    package func contains(_ key: PeerKey) -> Bool {
      revoked.withLock { $0[key] != nil } || lists.withLock { $0?() }?.contains(key) == true
    }

    /// The time before which certificates of a user are revoked by a revocation list; `nil` for none.
    package func cutoff(ofUser user: String) -> Date? { lists.withLock { $0?() }?.cutoff(ofUser: user) }

    /// Sets the revocation lists of the peer.
    package func use(_ lists: @escaping @Sendable () -> RevocationLists?) {
      self.lists.withLock { $0 = lists }
    }

    /// All revoked keys, the newest first.
    package var all: [Revocation] {
      revoked.withLock { $0.values.map(\.revocation) }.sorted { $0.time > $1.time }
    }

    /// Sets what makes keys known to other peers, whenever they are revoked from now on.
    package func share(by sharing: @escaping @Sendable (Set<PeerKey>) async throws -> Void) {
      self.sharing.withLock { $0 = sharing }
    }

    /// Revokes a key: its sessions end at once, and it gets no further certificate and no further session.
    ///
    /// That takes effect before it is stored, so it also works with a store that cannot write. If the key was
    /// revoked before, anything of that revocation that is not stored yet is stored now.
    ///
    /// - Parameters:
    ///   - key: The device key.
    ///   - source: Who revokes it, for the audit log.
    ///   - reason: Why, for the audit log.
    /// - Returns: Whether it was not revoked before.
    /// - Throws: `BigPeerError` for a text that is too long, and then nothing is done. `BigPeerError` also
    ///   when the revocation cannot be stored, or cannot be made known to other peers; its text says how long
    ///   the key is refused nevertheless, and where.
    @discardableResult
    package func revoke(_ key: PeerKey, source: String? = nil, reason: String? = nil) async throws -> Bool {
      for text in [source, reason].compactMap(\.self) where text.utf8.count > Self.textBytes {
        throw BigPeerError("a reason and a source of a revocation have at most \(Self.textBytes) bytes")
      }
      let new = Revocation(peerKey: key, time: clock.now(), source: source, reason: reason)
      let (entry, isNew) = revoked.withLock { revoked in
        if let entry = revoked[key] { return (entry, false) }
        let entry = Entry(revocation: new)
        revoked[key] = entry
        return (entry, true)
      }
      if isNew { apply([key]) }
      let event = entry.revocation.event
      // Others learn of it whether or not it can be stored here.
      let unshared = await share(key)
      if !entry.isStored { try await store(event, key) }
      try await record(event, key)
      if let unshared { throw unshared }
      return isNew
    }

    /// Makes a key known to other peers.
    ///
    /// - Returns: Why they do not learn of it; `nil` if they do, or if nothing makes keys known to them.
    private func share(_ key: PeerKey) async -> BigPeerError? {
      guard let share = sharing.withLock({ $0 }) else { return nil }
      do {
        try await share([key])
        return nil
      } catch {
        return BigPeerError(
          "the key \(key) is refused here, and its revocation list cannot be made or stored: \(error)",
          underlying: error)
      }
    }

    private func store(_ event: LoginEvent, _ key: PeerKey) async throws {
      do {
        try await storage.write { tables in try tables.set(event.json, .revocations, key.bytes) }
      } catch {
        throw BigPeerError(
          "the key \(key) is refused until the next start, and not stored: \(error)", underlying: error)
      }
      revoked.withLock { $0[key]?.isStored = true }
    }

    /// Adds the revocation to the audit log, unless that was done.
    ///
    /// This is a transaction of its own, so that a damaged log does not prevent a key from being stored.
    private func record(_ event: LoginEvent, _ key: PeerKey) async throws {
      let wasAudited = revoked.withLock { revoked in
        defer { revoked[key]?.isAudited = true }
        return revoked[key]?.isAudited ?? true
      }
      guard !wasAudited else { return }
      do {
        try await audit.add(event)
      } catch {
        revoked.withLock { $0[key]?.isAudited = false }
        throw BigPeerError(
          "the key \(key) is revoked, and its entry in the audit log cannot be written: \(error)",
          underlying: error)
      }
    }

    private static func read(_ key: [UInt8], _ value: [UInt8]) -> Revocation? {
      guard let event = LoginEvent(json: value), let text = event.deviceKey,
        let peerKey = try? PeerKey(hexadecimal: text), peerKey.bytes == key
      else { return nil }
      return Revocation(peerKey: peerKey, time: event.time, source: event.source, reason: event.reason)
    }
  }
#endif
