public import CRDTCore
import DocStore
import Links
import Logging
import NIOConcurrencyHelpers
public import SyncProtocol

/// Which peers are connected, and what they say of themselves.
extension PeerNetwork {
  /// A peer's description of its device.
  public struct Device: Hashable, Sendable {
    /// The name of the device.
    public var name: String
    /// Its operating system, for example `Linux 6.1`.
    public var system: String
    /// The version of the library or application that the peer runs.
    public var release: String

    /// Makes a description; each text is cut to `PeerPresence.textBytes`.
    public init(name: String = "", system: String = "", release: String = "") {
      (self.name, self.system, self.release) = (name, system, release)
    }
  }

  /// The peers that are connected or left a moment ago, by their sites.
  public var neighbours: [Neighbour] { state.withLockedValue { $0.neighbours } }

  /// This peer's own presence.
  public var ownPresence: PeerPresence { state.withLockedValue { described(in: $0) } }

  /// Asks neighbours for their presence, for as long as the result is retained.
  ///
  /// Their presence is in ``neighbours``, and each change is a ``NetworkEvent/presence(_:)``.
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

  /// Called under the lock, so that every session ends with the newest setting.
  private static func observe(_ observes: Bool, _ state: borrowing NetworkState) {
    for session in state.sessions.values { session.driver.observePresence(observes) }
  }

  /// Replaces the application's metadata in this peer's presence.
  ///
  /// - Throws: `limit` when it has more than `PeerPresence.metadataBytes`; then the former metadata stays.
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

  /// This peer's presence, with the number of its last state.
  private func described(in state: borrowing NetworkState) -> PeerPresence {
    PeerPresence(
      site: setup.store.site,
      version: PeerPresence.Version(start: state.presence.start, number: state.presence.number),
      kind: setup.configuration.kind, deviceName: options.device.name, system: options.device.system,
      release: options.device.release, reachesBigPeer: state.reachesBigPeer(setup.configuration.kind),
      metadata: state.presence.metadata)
  }

  // MARK: - Telling

  /// Sends this peer's changed presence after half a second, together with other changes until then.
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

  /// Sends this peer's presence to all peers that ask for it, if it has changed.
  ///
  /// - Parameter inRunningSessions: Whether running sessions send it too.
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

  /// Records that a peer is connected.
  func noteArrival(of peer: PeerInfo) {
    state.withLockedValue { $0.presence.returned(peer.site) }
    if peer.kind == .big {
      gatherPresence()
      noteReach()
    }
  }

  /// Records that a connection to a peer is over.
  ///
  /// If it was the last one, the peer may come back for a while.
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

  /// Drops peers that left and have not come back in time.
  ///
  /// One task does so for all of them, however many come and go.
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
      // A peer may have left since the last check.
      network.forgetDeparted()
    }
    if task == nil { state.withLockedValue { $0.presence.isForgetting = false } }
  }
}

/// Bounds of presence.
enum PresenceLimits {
  /// How long changes of this peer's presence are collected before they are sent.
  static let gathering = Duration.milliseconds(500)
}

extension SyncError {
  fileprivate static let unsignedPresence = SyncError(
    .malformed, "What the peer tells of itself is not signed with its key")
}
