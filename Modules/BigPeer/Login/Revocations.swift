#if Server
  package import CRDTCore
  package import Foundation
  import Synchronization
  package import Transports

  /// A device key that is not believed any more.
  package struct Revocation: Hashable, Sendable {
    package let peerKey: PeerKey
    package let time: Date
    /// Who has revoked it, as that one says.
    package let source: String?
    package let reason: String?

    /// As an entry of the audit log.
    fileprivate var event: LoginEvent {
      var event = LoginEvent(.revoked, at: time)
      (event.deviceKey, event.source, event.reason) = ("\(peerKey)", source, reason)
      return event
    }

    /// As fields of a JSON object.
    package var fields: [TextKey: Value] { event.fields }
  }

  /// The device keys of an application that are not believed any more: they get no certificate, and no session.
  ///
  /// A revocation is for good: the device needs another key. Other peers of the application do not learn of it, so a device can go on with
  /// those until its certificate ends.
  package final class Revocations: Sendable {
    private struct Entry {
      let revocation: Revocation
      var isStored = false
      /// Whether the audit log has it, or somebody is about to write it there.
      var isAudited = false
    }

    /// Bytes of a reason, and of a source.
    package static let textBytes = 512

    private let storage: any LoginStorage
    private let audit: LoginAudit
    private let clock: LoginClock
    private let apply: @Sendable (Set<PeerKey>) -> Void
    private let revoked: Mutex<[PeerKey: Entry]>

    /// Reads what there is, and has it apply.
    ///
    /// - Parameters:
    ///   - storage: Where it is kept.
    ///   - audit: Hears of each revocation.
    ///   - clock: The time.
    ///   - apply: Ends the sessions of keys, and refuses them from then on.
    /// - Throws: What the storage throws; `BigPeerError` for an entry that cannot be read: nobody is let in by damage.
    package init(
      _ storage: any LoginStorage, audit: LoginAudit, clock: LoginClock = .system,
      apply: @escaping @Sendable (Set<PeerKey>) -> Void
    ) throws {
      var stored: [PeerKey: Revocation] = [:]
      try storage.read { tables in
        // A damaged one is an error.
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

    /// Whether a key is revoked.
    package func contains(_ key: PeerKey) -> Bool { revoked.withLock { $0[key] != nil } }

    /// All revoked keys, the newest first.
    package var all: [Revocation] {
      revoked.withLock { $0.values.map(\.revocation) }.sorted { $0.time > $1.time }
    }

    /// Revokes a key: its sessions end at once, and it gets no certificate and no session any more.
    ///
    /// That is so before it is stored, so that a store that cannot write keeps nobody from being cut. Where it was revoked before, what
    /// is not stored of that is stored now.
    ///
    /// - Parameters:
    ///   - key: The device key.
    ///   - source: Who revokes it, for the audit log.
    ///   - reason: Why, for the audit log.
    /// - Returns: Whether it was not revoked before.
    /// - Throws: `BigPeerError` for a text that is too long, with nothing done; and when it cannot be stored, which says for how long
    ///   the key is refused all the same.
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
      if !entry.isStored { try await store(event, key) }
      try await record(event, key)
      return isNew
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

    /// Adds it to the audit log unless that was done: in a transaction of its own, so that a damaged log keeps no key from being stored.
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
