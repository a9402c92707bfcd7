import Transports

/// Something that keeps this peer from reaching others, for as long as it lasts.
public enum DunlinTransportCondition: Hashable, Sendable, CustomStringConvertible {
  /// No interface of this machine is up that carries multicast: neighbours are not found by themselves.
  case noMulticast
  /// Another program has the port for itself: that of discovery, or one that this peer was given and listened on before
  /// sync was stopped, in whose place it has another one now.
  case portTaken(Int)
  /// The system does not let this process find neighbours, for this reason.
  case discoveryRefused(String)
  /// This peer has addresses to connect to, and no big peer is connected.
  case noBigPeer

  public var description: String { condition.description }

  private var condition: TransportCondition {
    switch self {
    case .noMulticast: .noMulticast
    case .portTaken(let port): .portTaken(port)
    case .discoveryRefused(let reason): .discoveryRefused(reason)
    case .noBigPeer: .noBigPeer
    }
  }

  init(_ condition: TransportCondition) {
    switch condition {
    case .noMulticast: self = .noMulticast
    case .portTaken(let port): self = .portTaken(port)
    case .discoveryRefused(let reason): self = .discoveryRefused(reason)
    case .noBigPeer: self = .noBigPeer
    }
  }
}

extension Dunlin {
  /// What keeps this peer from reaching others now; empty while sync does not run.
  public var transportConditions: Set<DunlinTransportCondition> {
    Set(core.network.conditions.map { DunlinTransportCondition($0) })
  }

  /// What keeps this peer from reaching others, now and after each change; whoever is slow gets the newest.
  ///
  /// It ends when the task is cancelled or the database closes.
  public var transportConditionChanges: AsyncStream<Set<DunlinTransportCondition>> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Set<DunlinTransportCondition>.self, bufferingPolicy: .bufferingNewest(1))
    let network = core.network
    let events = network.events()
    continuation.yield(Set(network.conditions.map { DunlinTransportCondition($0) }))
    let task = Task {
      for await event in events {
        guard case .conditions(let conditions) = event else { continue }
        continuation.yield(Set(conditions.map { DunlinTransportCondition($0) }))
      }
      continuation.finish()
    }
    continuation.onTermination = { _ in task.cancel() }
    return stream
  }
}
