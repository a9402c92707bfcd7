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

    /// As fields of a JSON object.
    package var fields: [TextKey: Value] {
      var event = LoginEvent(.revoked, at: time)
      (event.deviceKey, event.source, event.reason) = ("\(peerKey)", source, reason)
      return event.fields
    }
  }

  /// The device keys of an application that are not believed any more: they get no certificate, and no session.
  ///
  /// A revocation is for good: the device needs another key. Other peers of the application do not learn of it, so a device can go on with
  /// those until its certificate ends.
  package final class Revocations: Sendable {
    /// Bytes of a reason, and of a source.
    package static let textBytes = 512

    private let storage: any LoginStorage
    private let audit: LoginAudit
    private let clock: LoginClock
    private let apply: @Sendable (Set<PeerKey>) -> Void
    private let revoked: Mutex<[PeerKey: Revocation]>

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
        try tables.forEach(.revocations, from: []) { key, value in
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
      revoked = Mutex(stored)
      if !stored.isEmpty { apply(Set(stored.keys)) }
    }

    /// Whether a key is revoked.
    package func contains(_ key: PeerKey) -> Bool { revoked.withLock { $0[key] != nil } }

    /// All revoked keys, the newest first.
    package var all: [Revocation] { revoked.withLock { $0.values.sorted { $0.time > $1.time } } }

    /// Revokes a key: its sessions end at once, and it gets no certificate and no session any more.
    ///
    /// - Parameters:
    ///   - key: The device key.
    ///   - source: Who revokes it, for the audit log.
    ///   - reason: Why, for the audit log.
    /// - Returns: Whether it was not revoked before.
    /// - Throws: `BigPeerError` for a text that is too long; what the storage throws. Then the key is not revoked.
    @discardableResult
    package func revoke(_ key: PeerKey, source: String? = nil, reason: String? = nil) async throws -> Bool {
      for text in [source, reason].compactMap(\.self) where text.utf8.count > Self.textBytes {
        throw BigPeerError("a reason and a source of a revocation have at most \(Self.textBytes) bytes")
      }
      guard !contains(key) else { return false }
      let revocation = Revocation(peerKey: key, time: clock.now(), source: source, reason: reason)
      var event = LoginEvent(.revoked, at: revocation.time)
      (event.deviceKey, event.source, event.reason) = ("\(key)", source, reason)
      try await storage.write { [audit, event] tables in
        guard try tables.value(.revocations, key.bytes) == nil else { return }
        try tables.set(event.json, .revocations, key.bytes)
        try audit.add(event, to: tables)
      }
      let isNew = revoked.withLock { revoked in
        guard revoked[key] == nil else { return false }
        revoked[key] = revocation
        return true
      }
      apply([key])
      return isNew
    }

    private static func read(_ key: [UInt8], _ value: [UInt8]) -> Revocation? {
      guard let event = LoginEvent(json: value), let text = event.deviceKey,
        let peerKey = try? PeerKey(hexadecimal: text), peerKey.bytes == key
      else { return nil }
      return Revocation(peerKey: peerKey, time: event.time, source: event.source, reason: event.reason)
    }
  }
#endif
