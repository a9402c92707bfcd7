import Foundation
import Synchronization

/// Whom attackers attack, for how long, and with how much.
final class Target: Sendable {
  /// Bytes that a row sends at most, over all of its connections.
  static let limitBytes = 64 << 20

  let port: Int
  /// Where it listens for WebSockets, if it does.
  let webPort: Int?
  let deadline: ContinuousClock.Instant
  private let sent = Atomic<Int>(0)

  init(port: Int, webPort: Int? = nil, deadline: ContinuousClock.Instant) {
    self.port = port
    self.webPort = webPort
    self.deadline = deadline
  }

  /// Whether the time is over, or all is sent.
  var isOver: Bool { ContinuousClock.now >= deadline || sentBytes >= Self.limitBytes }

  var sentBytes: Int { sent.load(ordering: .relaxed) }

  func didSend(_ bytes: Int) { sent.add(bytes, ordering: .relaxed) }

  /// Waits, but not beyond the end.
  func pause(_ duration: Duration) {
    let end = min(ContinuousClock.now + duration, deadline)
    let rest = end - .now
    if rest > .zero { usleep(UInt32(clamping: Int64(rest / .microseconds(1)))) }
  }

  /// Runs `body` on so many threads at once and waits for all of them.
  func lanes(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let group = DispatchGroup()
    for lane in 0..<count {
      group.enter()
      Thread.detachNewThread {
        body(lane)
        group.leave()
      }
    }
    group.wait()
  }

  /// Opens one connection after the other until the end, each as soon as the one before was closed.
  ///
  /// - Parameters:
  ///   - lane: Tells the sites of attackers side by side apart.
  ///   - pause: How long an attacker waits before it comes again.
  ///   - body: What is said on a connection that has just said hello; it gets the connection's number.
  func again(lane: Int = 0, pause: Duration = .milliseconds(50), _ body: (HostileConnection, Int) -> Void) {
    var number = 0
    while !isOver {
      if let connection = HostileConnection(to: self) {
        connection.sayHello(site: lane << 32 | number + 1)
        body(connection, number)
      }
      number += 1
      self.pause(pause)
    }
  }

  /// Opens so many connections that say hello; fewer where the victim has no room.
  func crowd(_ count: Int) -> [HostileConnection] {
    (0..<count).compactMap { number in
      guard !isOver, let connection = HostileConnection(to: self) else { return nil }
      connection.sayHello(site: number + 1)
      connection.flush()
      return connection
    }
  }
}
