import NIOConcurrencyHelpers
package import NIOCore

/// The origin of a connection, as limits count it.
///
/// It is an IPv4 address, or the first 64 bits of an IPv6 address. One host may have all addresses below the
/// latter.
package struct ConnectionOrigin: Hashable, Sendable {
  fileprivate let bytes: [UInt8]

  /// The origin of a socket's other end; all sockets without an address count as one.
  package init(_ address: SocketAddress?) {
    switch address {
    // In the system's structures the address follows family and port, and for IPv6 also the flow number.
    case .v4(let address): bytes = withUnsafeBytes(of: address.address) { Array($0[4..<8]) }
    case .v6(let address):
      let all = withUnsafeBytes(of: address.address) { Array($0[8..<24]) }
      // An IPv4 address as a dual-stack socket reports it.
      let isMapped = all.prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
      bytes = Array(isMapped ? all.suffix(4) : all.prefix(8))
    case .unixDomainSocket, nil: bytes = []
    }
  }
}

extension ConnectionOrigin {
  /// The origin of a link other than a socket.
  package init(named name: String) { bytes = Array(name.utf8) }
}

/// Incoming connections without a session: the peer has not said hello, or the connection waits for its end.
///
/// All listeners of a network share one.
package final class HalfOpenConnections: Sendable {
  private struct State {
    var all = 0
    var byOrigin: [ConnectionOrigin: Int] = [:]
    /// A burst comes from many peers behind one address after a restart.
    ///
    /// A flood continues.
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

  /// How many half-open connections there are.
  package var count: Int { state.withLockedValue { $0.all } }

  /// Counts a new connection.
  ///
  /// - Parameters:
  ///   - origin: `nil` when a proxy has yet to report the origin.
  ///   - now: When the connection arrived.
  /// - Returns: `nil` when there are too many, or they arrive too fast.
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

  /// Counts a connection at its origin, which was unknown before.
  ///
  /// - Returns: Whether the connection may stay.
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

/// One connection's entry among the half-open ones.
package final class HalfOpenPlace: Sendable {
  private enum Course {
    case counted
    /// Its session runs; it is not counted.
    case away
    case over
  }

  private let connections: HalfOpenConnections
  private let state: NIOLockedValueBox<(course: Course, origin: ConnectionOrigin?)>

  fileprivate init(_ connections: HalfOpenConnections, _ origin: ConnectionOrigin?) {
    self.connections = connections
    state = NIOLockedValueBox((.counted, origin))
  }

  /// Counts the connection at the origin that a proxy reports.
  ///
  /// - Returns: `false` when there are too many from there; the caller must then close the connection.
  func settle(_ origin: ConnectionOrigin) -> Bool {
    state.withLockedValue { state in
      guard state.course == .counted, state.origin == nil else { return true }
      guard connections.settle(origin) else { return false }
      state.origin = origin
      return true
    }
  }

  /// Stops counting the connection: its peer has said hello, and a session runs.
  package func leave() { change(to: .away) }

  /// Counts the connection again, even above the limit: its session is over.
  package func comeBack() { change(to: .counted) }

  /// Stops counting the connection for good: it is closed.
  package func end() { change(to: .over) }

  private func change(to next: Course) {
    let (difference, origin) = state.withLockedValue { state in
      (Self.change(&state.course, to: next), state.origin)
    }
    if difference != 0 { connections.add(difference, origin) }
  }

  /// Changes the state of the connection.
  ///
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
