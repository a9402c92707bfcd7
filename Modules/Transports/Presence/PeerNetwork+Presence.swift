public import CRDTCore
import DocStore
import Logging
import NIOConcurrencyHelpers
public import SyncProtocol

/// Who is there, and what they say of themselves.
extension PeerNetwork {
  /// What a peer says of the device that it runs on.
  public struct Device: Hashable, Sendable {
    /// What the device is called.
    public var name: String
    /// Its operating system, for example `Linux 6.1`.
    public var system: String
    /// The version of the library or application that the peer runs.
    public var release: String

    /// Each text is cut to `PeerPresence.textBytes`.
    public init(name: String = "", system: String = "", release: String = "") {
      (self.name, self.system, self.release) = (name, system, release)
    }
  }

  /// The peers that are connected or left a moment ago, by their sites.
  public var neighbours: [Neighbour] { state.withLockedValue { $0.neighbours } }

  /// What this peer says of itself.
  public var ownPresence: PeerPresence { state.withLockedValue { described(in: $0) } }

  /// Asks neighbours what they say of themselves, for as long as the result is kept.
  ///
  /// What they say is in ``neighbours``, and each change is a ``NetworkEvent/presence(_:)``.
  public func observePresence() -> PresenceObservation {
    let id = state.withLockedValue { state in
      let id = state.newID()
      state.presence.observers.insert(id)
      if state.presence.observers.count == 1 { Self.observe(true, state) }
      return id
    }
    return PresenceObservation { [weak self] in
      self?.state.withLockedValue { state in
        guard state.presence.observers.remove(id) != nil, state.presence.observers.isEmpty else { return }
        Self.observe(false, state)
      }
    }
  }

  /// Under the lock, so that every session ends with the newest wish.
  private static func observe(_ observes: Bool, _ state: borrowing NetworkState) {
    for session in state.sessions.values { session.driver.observePresence(observes) }
  }

  /// Replaces what the application wants others to know of this peer.
  ///
  /// - Throws: `limit` when it has more than `PeerPresence.metadataBytes`; then what it was before stays.
  public func tell(metadata: [TextKey: Value]) throws(SyncError) {
    let byteCount = PeerPresence.byteCount(of: metadata)
    guard byteCount <= PeerPresence.metadataBytes else {
      throw SyncError(
        .limit,
        "What other peers are told of this one has \(byteCount) bytes, and may have \(PeerPresence.metadataBytes)"
      )
    }
    guard PeerPresence.isReadable(metadata) else {
      throw SyncError(.limit, "What other peers are told of this one is nested too deep")
    }
    state.withLockedValue { $0.presence.metadata = metadata }
    gatherPresence()
  }

  /// What this peer says of itself, under the number of its last state.
  private func described(in state: borrowing NetworkState) -> PeerPresence {
    PeerPresence(
      site: setup.store.site,
      version: PeerPresence.Version(start: state.presence.start, number: state.presence.number),
      kind: setup.configuration.kind, deviceName: options.device.name, system: options.device.system,
      release: options.device.release, reachesBigPeer: state.reachesBigPeer(setup.configuration.kind),
      metadata: state.presence.metadata)
  }

  // MARK: - Telling

  /// Tells what has changed about this peer, with what else changes within half a second.
  func gatherPresence() {
    let begins = state.withLockedValue { state in
      guard state.isRunning, !state.presence.isGathering else { return false }
      state.presence.isGathering = true
      return true
    }
    guard begins else { return }
    spawn(isTimer: true) { network in
      try? await network.setup.clock.sleep(for: PresenceLimits.gathering)
      network.tellPresence()
    }
  }

  /// Tells all peers that ask what this one says of itself, if that has changed.
  ///
  /// - Parameter inRunningSessions: Whether those are told that are met already.
  func tellPresence(inRunningSessions: Bool = true) {
    do {
      try state.withLockedValue { state in
        state.presence.isGathering = false
        let presence = described(in: state)
        guard state.isRunning, presence != state.presence.own?.presence else { return }
        state.presence.number += 1
        let own = try SignedPresence(described(in: state)) { try sign($0, state) }
        state.presence.own = own
        guard inRunningSessions else { return }
        for session in state.sessions.values { session.driver.tellPresence(own) }
      }
    } catch {
      options.logger.error("What this peer says of itself could not be signed: \(error)")
    }
  }

  private func sign(_ content: [UInt8], _ state: borrowing NetworkState) throws -> [UInt8] {
    #if TLS
      if let credentials = state.credentials { return try credentials.sign(presence: content) }
    #endif
    return []
  }

  // MARK: - Hearing

  func told(_ signed: SignedPresence, in id: UInt64) {
    let connection = state.withLockedValue { state -> PeerConnection? in
      guard let session = state.sessions[id] else { return nil }
      guard isGenuine(signed, from: session.provenPeer?.identity) else {
        session.driver.close(.unsignedPresence)
        return nil
      }
      state.sessions[id]?.connection.presence = signed.presence
      return state.sessions[id]?.current
    }
    if let connection { announce(.presence(connection)) }
  }

  private func isGenuine(_ signed: SignedPresence, from identity: PeerIdentity?) -> Bool {
    #if TLS
      if let identity {
        return identity.key.hasSigned(
          signed.signature, presence: signed.content, of: setup.configuration.appID)
      }
    #endif
    return signed.signature.isEmpty
  }

  /// Takes note that a peer is there.
  func noteArrival(of peer: PeerInfo) {
    state.withLockedValue { $0.presence.returned(peer.site) }
    if peer.kind == .big {
      gatherPresence()
      noteReach()
    }
  }

  /// Takes note that a connection to a peer is over: when it was the last one, the peer is waited for for a while.
  func noteDeparture(_ connection: PeerConnection) {
    guard let peer = connection.peer, let neighbour = Neighbour([connection]) else { return }
    let waits = state.withLockedValue { state in
      guard state.isRunning, options.absence > .zero,
        !state.sessions.values.contains(where: { $0.connection.peer?.site == peer.site })
      else { return false }
      state.presence.left(neighbour, until: setup.clock.now + options.absence)
      return true
    }
    if peer.kind == .big {
      gatherPresence()
      noteReach()
    }
    if waits { forgetDeparted() }
  }

  /// Forgets peers that left when their time has come: one task does so for all of them, however many come and go.
  private func forgetDeparted() {
    let begins = state.withLockedValue { state in
      guard state.isRunning, !state.presence.isForgetting, state.presence.nextForgotten != nil else {
        return false
      }
      state.presence.isForgetting = true
      return true
    }
    guard begins else { return }
    let task = spawn(isTimer: true) { network in
      while !Task.isCancelled, let next = network.state.withLockedValue({ $0.presence.nextForgotten }) {
        try? await network.setup.clock.sleep(until: next)
        let now = network.setup.clock.now
        for gone in network.state.withLockedValue({ $0.presence.forget(now: now) }) {
          network.announce(.left(gone.peer))
        }
      }
      network.state.withLockedValue { $0.presence.isForgetting = false }
      // Somebody may have left since the last look.
      network.forgetDeparted()
    }
    if task == nil { state.withLockedValue { $0.presence.isForgetting = false } }
  }
}

/// Bounds of presence.
enum PresenceLimits {
  /// For so long changes of this peer are gathered before they are told.
  static let gathering = Duration.milliseconds(500)
}

extension SyncError {
  fileprivate static let unsignedPresence = SyncError(
    .malformed, "What the peer tells of itself is not signed with its key")
}
