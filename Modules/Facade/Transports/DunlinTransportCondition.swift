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
  /// A big peer was connected at an address that this peer connects to, and none is now.
  case noBigPeer
  /// The last attempt to connect to an address did not lead to a peer, for this reason: nobody listens there, or the peer is one of
  /// another application. Further attempts follow.
  case unreachable(address: String, reason: String)

  public var description: String { condition.description }

  private var condition: TransportCondition {
    switch self {
    case .noMulticast: .noMulticast
    case .portTaken(let port): .portTaken(port)
    case .discoveryRefused(let reason): .discoveryRefused(reason)
    case .noBigPeer: .noBigPeer
    case .unreachable(let address, let reason): .unreachable(address: address, reason: reason)
    }
  }

  init(_ condition: TransportCondition) {
    switch condition {
    case .noMulticast: self = .noMulticast
    case .portTaken(let port): self = .portTaken(port)
    case .discoveryRefused(let reason): self = .discoveryRefused(reason)
    case .noBigPeer: self = .noBigPeer
    case .unreachable(let address, let reason): self = .unreachable(address: address, reason: reason)
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
