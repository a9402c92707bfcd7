import Facade
import SyncProtocol
import Transports

/// Tells of each connection of a served peer that comes or goes.
struct ServedConnections {
  private let events: AsyncStream<NetworkEvent>
  /// While somebody observes, peers say what they are, which `dunlin peers` shows.
  private let observer: DunlinPresenceObserver

  /// Begins to listen; what happens from now on is told.
  init(_ dunlin: Dunlin) {
    events = dunlin.parts.network.events()
    observer = dunlin.presence.observe { _ in }
  }

  /// Prints a line for each, until the database is closed.
  func show() async {
    for await event in events {
      switch event {
      case .connected(let connection):
        printLine("connected to \(Self.name(of: connection)) over \(connection.endpoint)".printable)
      case .disconnected(let connection, let end) where connection.peer != nil:
        printLine("lost \(Self.name(of: connection)) over \(connection.endpoint): \(end)".printable)
      case .disconnected, .presence, .left, .attemptFailed, .session, .conditions: break
      }
    }
    observer.cancel()
  }

  private static func name(of connection: PeerConnection) -> String {
    let user = connection.identity?.user.map { ", user \($0)" } ?? ""
    return connection.peer.map { "\($0.name) (\($0.kind)\(user))" } ?? "a peer"
  }
}

/// Prints a line at once; the method of the same purpose hides the function.
private func printLine(_ line: String) { show(line) }
