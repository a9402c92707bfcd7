import Transports

/// A condition that keeps this peer from reaching others, for as long as it lasts.
public enum DunlinTransportCondition: Hashable, Sendable, CustomStringConvertible {
  /// No interface with multicast is up on this machine, so neighbours are not discovered.
  case noMulticast
  /// Another program uses the port exclusively.
  ///
  /// It is the port of discovery, or a port that this peer listened on before sync was stopped. In the second
  /// case this peer listens on another port now.
  case portTaken(Int)
  /// The system does not let this process discover neighbours, for this reason.
  case discoveryRefused(String)
  /// A big peer was connected at an address that this peer connects to, and none is connected now.
  case noBigPeer
  /// The last attempt to connect to an address did not reach a peer, for this reason.
  ///
  /// For example, nothing listens there, or the peer belongs to another application. Further attempts follow.
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
  /// The conditions that keep this peer from reaching others now; empty while sync does not run.
  public var transportConditions: Set<DunlinTransportCondition> {
    Set(core.sync.network.conditions.map { DunlinTransportCondition($0) })
  }

  /// The conditions that keep this peer from reaching others, now and after each change.
  ///
  /// A slow reader gets only the newest set. The stream ends when the task is cancelled or the database
  /// closes.
  public var transportConditionChanges: AsyncStream<Set<DunlinTransportCondition>> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Set<DunlinTransportCondition>.self, bufferingPolicy: .bufferingNewest(1))
    let network = core.sync.network
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
