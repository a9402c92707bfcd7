import NIOConcurrencyHelpers
package import NIOCore

/// Where a connection comes from, as far as limits go: an IPv4 address, or the first 64 bits of an IPv6 address, of which one
/// host may have all the rest.
package struct ConnectionOrigin: Hashable, Sendable {
  fileprivate let bytes: [UInt8]

  /// The origin of a socket's other end; all that have no address count as one.
  package init(_ address: SocketAddress?) {
    switch address {
    // In the system's structures the address begins behind family and port, for IPv6 behind the flow's number too.
    case .v4(let address): bytes = withUnsafeBytes(of: address.address) { Array($0[4..<8]) }
    case .v6(let address):
      let all = withUnsafeBytes(of: address.address) { Array($0[8..<24]) }
      // An IPv4 address as a socket for both kinds has it.
      let isMapped = all.prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
      bytes = Array(isMapped ? all.suffix(4) : all.prefix(8))
    case .unixDomainSocket, nil: bytes = []
    }
  }
}

extension ConnectionOrigin {
  /// The origin of a link that is no socket.
  init(named name: String) { bytes = Array(name.utf8) }
}

/// The connections that others have made and that are no sessions: their peer has not said hello, or they wait for their end.
///
/// All listeners of a network share one.
package final class HalfOpenConnections: Sendable {
  private struct State {
    var all = 0
    var byOrigin: [ConnectionOrigin: Int] = [:]
    /// Many that come at once are peers behind one address, after a restart; a flood goes on.
    var arrivals: RateLimiter<ConnectionOrigin>

    mutating func add(_ count: Int, _ origin: ConnectionOrigin?) {
      all += count
      guard let origin else { return }
      let now = byOrigin[origin, default: 0] + count
      byOrigin[origin] = now == 0 ? nil : now
    }
  }

  private let limits: ConnectionLimits
  private let state: NIOLockedValueBox<State>

  package init(_ limits: ConnectionLimits) {
    self.limits = limits
    state = NIOLockedValueBox(
      State(
        arrivals: RateLimiter(
          atOnce: max(limits.arrivalsByAddress, 1), perSecond: limits.arrivalsByAddressPerSecond)))
  }

  /// How many there are.
  package var count: Int { state.withLockedValue { $0.all } }

  /// Counts a connection that has just come.
  ///
  /// - Parameters:
  ///   - origin: `nil` where a proxy has yet to say where it comes from.
  ///   - now: When it came.
  /// - Returns: `nil` when there are too many, or they come too fast.
  package func enter(from origin: ConnectionOrigin?, at now: NIODeadline = .now()) -> HalfOpenPlace? {
    state.withLockedValue { state in
      guard state.all < limits.halfOpen, origin.map({ admit($0, &state, now) }) ?? true else { return nil }
      state.add(1, origin)
      return HalfOpenPlace(self, origin)
    }
  }

  private func admit(_ origin: ConnectionOrigin, _ state: inout State, _ now: NIODeadline) -> Bool {
    state.byOrigin[origin, default: 0] < limits.halfOpenByAddress
      && state.arrivals.take(origin, at: .nanoseconds(Int64(clamping: now.uptimeNanoseconds))) == nil
  }

  /// Counts a connection where it comes from, which was not known.
  ///
  /// - Returns: Whether it may stay.
  fileprivate func settle(_ origin: ConnectionOrigin) -> Bool {
    state.withLockedValue { state in
      guard admit(origin, &state, .now()) else { return false }
      state.add(-1, nil)
      state.add(1, origin)
      return true
    }
  }

  fileprivate func add(_ count: Int, _ origin: ConnectionOrigin?) {
    state.withLockedValue { $0.add(count, origin) }
  }
}

/// One connection's place among those that are half open.
package final class HalfOpenPlace: Sendable {
  private enum Course {
    case counted
    /// Its session runs.
    case away
    case over
  }

  private let connections: HalfOpenConnections
  private let state: NIOLockedValueBox<(course: Course, origin: ConnectionOrigin?)>

  fileprivate init(_ connections: HalfOpenConnections, _ origin: ConnectionOrigin?) {
    self.connections = connections
    state = NIOLockedValueBox((.counted, origin))
  }

  /// Counts the connection where a proxy says that it comes from.
  ///
  /// - Returns: `false` when there are too many from there; then it is to be closed.
  func settle(_ origin: ConnectionOrigin) -> Bool {
    state.withLockedValue { state in
      guard state.course == .counted, state.origin == nil else { return true }
      guard connections.settle(origin) else { return false }
      state.origin = origin
      return true
    }
  }

  /// Counts the connection no more: its peer has said hello, and a session runs.
  package func leave() { change(to: .away) }

  /// Counts it again, whatever the limit: its session is over.
  package func comeBack() { change(to: .counted) }

  /// Counts it no more: it is closed.
  package func end() { change(to: .over) }

  private func change(to next: Course) {
    let (difference, origin) = state.withLockedValue { state in
      (Self.change(&state.course, to: next), state.origin)
    }
    if difference != 0 { connections.add(difference, origin) }
  }

  /// - Returns: By how much the count changes.
  private static func change(_ course: inout Course, to next: Course) -> Int {
    switch (course, next) {
    case (.over, _), (.counted, .counted), (.away, .away): return 0
    case (.counted, .away), (.counted, .over):
      course = next
      return -1
    case (.away, .counted):
      course = next
      return 1
    case (.away, .over):
      course = next
      return 0
    }
  }
}
