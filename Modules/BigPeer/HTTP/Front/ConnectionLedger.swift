#if Server
  import HTTPTypes
  import Links
  import Logging
  import NIOCore
  import Synchronization

  /// The connections of one listener: their number by address, and the request in progress of each.
  final class ConnectionLedger: Sendable {
    private struct Connection {
      let origin: ConnectionOrigin
      /// The request in progress.
      var record: RequestRecord?
      /// Why no further request of it is carried out.
      var ending: Problem?
    }

    private struct State {
      var connections: [ObjectIdentifier: Connection] = [:]
      var byOrigin: [ConnectionOrigin: Int] = [:]
      var refused: UInt64 = 0
      var toldRefusal: ContinuousClock.Instant?
    }

    /// How often refused connections are logged.
    private static let tellingPace = Duration.seconds(1)

    private let limits: HTTPLimits
    /// Web proxies, whose connections carry many clients.
    private let proxies: Set<String>
    private let logger: Logger
    private let state = Mutex(State())

    init(_ limits: HTTPLimits, proxies: Set<String>, logger: Logger) {
      self.limits = limits
      self.proxies = proxies
      self.logger = logger
    }

    /// The number of open connections.
    var count: Int { state.withLock { $0.connections.count } }

    /// The number of connections that were refused for lack of room.
    var refusedCount: UInt64 { state.withLock { $0.refused } }

    // MARK: - Connections

    /// Counts a connection until ``close(_:)``.
    ///
    /// - Returns: Whether there is room for it.
    func open(_ channel: any Channel) -> Bool {
      let origin = ConnectionOrigin(channel.remoteAddress)
      let isProxy = ForwardedAddress.isProxy(channel.remoteAddress, of: proxies)
      let (isOpen, refused) = state.withLock { state -> (Bool, UInt64?) in
        guard state.connections.count < limits.connections,
          isProxy || state.byOrigin[origin, default: 0] < limits.connectionsByAddress
        else {
          state.refused += 1
          let now = ContinuousClock.now
          if let told = state.toldRefusal, now - told < Self.tellingPace { return (false, nil) }
          state.toldRefusal = now
          return (false, state.refused)
        }
        state.connections[ObjectIdentifier(channel)] = Connection(origin: origin)
        state.byOrigin[origin, default: 0] += 1
        return (true, nil)
      }
      if let refused {
        logger.warning(
          "Connections are refused: there are as many as may be, of all addresses or of one",
          metadata: [
            "address": "\(channel.remoteAddress?.unmappedIPAddress ?? "unknown")", "refused": "\(refused)",
          ])
      }
      return isOpen
    }

    /// Ends the counting of a connection; its requests are no longer needed.
    func close(_ channel: any Channel) {
      let record = state.withLock { state -> RequestRecord? in
        guard let connection = state.connections.removeValue(forKey: ObjectIdentifier(channel)) else {
          return nil
        }
        let left = state.byOrigin[connection.origin, default: 1] - 1
        state.byOrigin[connection.origin] = left > 0 ? left : nil
        return connection.record
      }
      record?.abandon(.abandoned)
    }

    // MARK: - Requests

    /// Records that a request of a connection is in progress, until ``end(_:on:)``.
    func begin(_ record: RequestRecord, on channel: any Channel) {
      let id = ObjectIdentifier(channel)
      let ending = state.withLock { state -> Problem? in
        guard let connection = state.connections[id] else { return .abandoned }
        state.connections[id]?.record = record
        return connection.ending
      }
      if let ending { record.abandon(ending) }
    }

    /// Records that the response to a request has ended.
    func end(_ record: RequestRecord, on channel: any Channel) {
      let id = ObjectIdentifier(channel)
      state.withLock { state in
        if state.connections[id]?.record === record { state.connections[id]?.record = nil }
      }
    }

    /// Stops all further requests of a connection, also the one that is being read.
    func abandon(_ channel: any Channel, _ problem: Problem) {
      let record = state.withLock { state in
        state.connections[ObjectIdentifier(channel)]?.ending = problem
        return state.connections[ObjectIdentifier(channel)]?.record
      }
      record?.abandon(problem)
    }
  }

  extension Problem {
    /// The problem of a request whose connection has ended.
    static let abandoned = Problem(.requestTimeout, "connection", "the connection ended before the answer")
  }
#endif
