#if Server
  import NIOCore
  import Synchronization
  import Transports

  /// The connections of one listener, by address.
  final class ConnectionLedger: Sendable {
    private struct State {
      var all = 0
      var byOrigin: [ConnectionOrigin: Int] = [:]
    }

    private let limits: HTTPLimits
    /// Web proxies, whose connections are many clients'.
    private let proxies: Set<String>
    private let state = Mutex(State())

    init(_ limits: HTTPLimits, proxies: Set<String>) {
      self.limits = limits
      self.proxies = proxies
    }

    /// Connections that are open.
    var count: Int { state.withLock { $0.all } }

    /// Counts a connection until ``close(_:)``.
    ///
    /// - Returns: Whether there is room for it.
    func open(_ address: SocketAddress?) -> Bool {
      let origin = ConnectionOrigin(address)
      let isProxy = address?.ipAddress.map { proxies.contains($0) } ?? false
      return state.withLock { state in
        guard state.all < limits.connections,
          isProxy || state.byOrigin[origin, default: 0] < limits.connectionsByAddress
        else { return false }
        state.all += 1
        state.byOrigin[origin, default: 0] += 1
        return true
      }
    }

    /// A connection that was counted is over.
    func close(_ address: SocketAddress?) {
      let origin = ConnectionOrigin(address)
      state.withLock { state in
        state.all -= 1
        let left = state.byOrigin[origin, default: 1] - 1
        state.byOrigin[origin] = left > 0 ? left : nil
      }
    }
  }
#endif
