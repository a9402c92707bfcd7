public import DocStore
import NIOConcurrencyHelpers
public import QueryEngine
public import SyncProtocol

/// Pumps one session over one link: brings it bytes, commits and time, and carries out what it asks for.
///
/// Memory is bounded: while too much waits to be looked at or sent, the link is not read, and the peer in turn waits;
/// the session bounds what waits to be applied.
public final class SessionDriver: Sendable {
  /// Names the session in the origin of the commits it applies.
  public let id: UInt64
  /// The link; the driver closes it at the end.
  public let link: any Link

  /// What every driver of a peer is set up with.
  public struct Setup: Sendable {
    let store: Store
    let gate: any SyncGate
    let configuration: SessionConfiguration
    let clock: TransportClock

    /// Collects what sessions need.
    public init(
      store: Store, gate: any SyncGate, configuration: SessionConfiguration,
      clock: TransportClock = .continuous
    ) {
      self.store = store
      self.gate = gate
      self.configuration = configuration
      self.clock = clock
    }
  }

  let setup: Setup
  let inbox = SessionInbox()
  let outbox = SessionOutbox()
  let applying = ApplyQueue()
  let figures = NIOLockedValueBox(SyncStatistics())
  private let onEvent: @Sendable (SyncEvent) -> Void

  /// Prepares a session; nothing happens before `run`.
  ///
  /// - Parameters:
  ///   - id: A number that no other session of the store has had since it was opened.
  ///   - link: A link that nobody else uses.
  ///   - setup: The store and what a session asks.
  ///   - subscriptions: What to pull from the peer, until `subscribe` says otherwise.
  ///   - onEvent: Hears of events in their order, on the driver's task; must be quick.
  public init(
    id: UInt64, link: any Link, setup: Setup, subscriptions: [SubscriptionQuery] = [],
    onEvent: @escaping @Sendable (SyncEvent) -> Void = { _ in }
  ) {
    self.id = id
    self.link = link
    self.setup = setup
    self.onEvent = onEvent
    inbox.post { $0.subscriptions = subscriptions }
  }

  /// What the session has moved so far.
  public var statistics: SyncStatistics { figures.withLockedValue { $0 } }

  /// Replaces what is pulled from the peer.
  public func subscribe(to queries: [SubscriptionQuery]) {
    inbox.post { $0.subscriptions = queries }
  }

  /// Says that the gate's answers have changed.
  public func policyChanged() {
    inbox.post { $0.policyChanged = true }
  }

  /// Asks for an orderly end; `run` returns soon after.
  public func close() {
    inbox.post { $0.closing = true }
  }

  /// Runs the session to its end and closes the link; call it once.
  ///
  /// Cancelling the task ends it at once, without a word to the peer. Nothing of the session runs any more when this
  /// returns.
  ///
  /// - Returns: Why it ended.
  public func run() async -> SessionEnd {
    // Registered before the session reads the store for the first time, so that no commit falls between.
    let listener = setup.store.onCommit { [inbox] commit in inbox.post { $0.commits.append(commit) } }
    defer { listener.cancel() }
    return await withTaskGroup(of: Void.self, returning: SessionEnd.self) { group in
      group.addTask { await self.receiveAll() }
      group.addTask { await self.sendAll() }
      group.addTask { await self.applyAll() }
      let end = await pump()
      if case .session(let error) = end {
        group.addTask { await self.hangUpLater(error) }
        await waitUntilQuiet()
      }
      link.close(LinkError(.closed, "\(end)"))
      group.cancelAll()
      return end
    }
  }

  /// Whether the link must not be read now.
  private var isBacklogged: Bool {
    guard !inbox.discards else { return false }
    return inbox.chunkBytes >= DriverLimits.unseenBytes || outbox.byteCount >= DriverLimits.unsentBytes
  }

  private func receiveAll() async {
    do {
      while let chunk = try await link.receive() {
        inbox.post(chunk: chunk)
        while isBacklogged, !Task.isCancelled { await inbox.room.wait() }
      }
      // Half a conversation is none: the peer's end of its direction ends the session.
      inbox.end(.receiver, LinkError(.disconnected, "\(link.endpoint.address) ended the connection"))
    } catch {
      inbox.end(.receiver, error)
    }
  }

  private func sendAll() async {
    do throws(LinkError) {
      while true {
        switch await outbox.next() {
        case .send(let pieces):
          try await link.send(pieces)
          inbox.room.signal()
          inbox.post { $0.writable = true }
        case .finish:
          try await link.finish()
          return inbox.end(.sender, nil)
        case .wait:
          throw .cancelled
        }
      }
    } catch {
      inbox.end(.sender, error)
    }
  }

  /// Waits until what was queued has gone out and the peer has hung up too, or until the link is closed.
  ///
  /// Hanging up first would make the system drop bytes that the peer has not read yet, and with them the reason.
  private func waitUntilQuiet() async {
    outbox.finish()
    inbox.discard()
    while !inbox.isQuiet, !Task.isCancelled { await inbox.arrival.wait() }
  }

  private func hangUpLater(_ reason: SyncError) async {
    guard (try? await setup.clock.sleep(for: DriverLimits.lingering)) != nil else { return }
    link.close(LinkError(.closed, reason.description))
  }

  func tell(_ event: SyncEvent) { onEvent(event) }
}

/// Bounds of what one driver keeps.
enum DriverLimits {
  /// Bytes received that the session has not seen.
  static let unseenBytes = 1 << 20
  /// Bytes that wait to be sent; above what a session has in flight, so that two peers never wait for each other.
  static let unsentBytes = 32 << 20
  /// How long an ended session waits for the peer to hang up.
  static let lingering: Duration = .seconds(2)
}
