#if Server
  import HTTPTypes
  import Links
  import Logging
  import NIOCore
  import Synchronization

  /// The connections of one listener: their number by address, and the request in progress of each.
  final class ConnectionLedger: Sendable {
    private struct Connection {
      let channel: any Channel
      let origin: ConnectionOrigin
      /// Orders connections by when they opened or ended a request.
      var turn: UInt64
      /// The request in progress.
      var record: RequestRecord?
      /// Whether a request on it was admitted with a key.
      var hasShownKey = false
      /// Why no further request of it is carried out.
      var ending: Problem?

      /// Whether it may be closed for another one: it has shown no key, and nobody waits for an answer on it.
      var isExpendable: Bool { record == nil && !hasShownKey }
    }

    private struct State {
      var connections: [ObjectIdentifier: Connection] = [:]
      var byOrigin: [ConnectionOrigin: Int] = [:]
      var turn: UInt64 = 0
      var refused: UInt64 = 0
      var toldRefusal: ContinuousClock.Instant?

      mutating func nextTurn() -> UInt64 {
        turn += 1
        return turn
      }

      /// Removes a connection.
      ///
      /// - Returns: It; `nil` if it is not there.
      mutating func remove(_ id: ObjectIdentifier) -> Connection? {
        guard let connection = connections.removeValue(forKey: id) else { return nil }
        let left = byOrigin[connection.origin, default: 1] - 1
        byOrigin[connection.origin] = left > 0 ? left : nil
        return connection
      }

      /// Removes the expendable connection that has been idle for longest, to make room.
      ///
      /// - Complexity: O(*n*) in the connections, of which there are as many as may be.
      mutating func removeExpendable() -> Connection? {
        let found = connections.filter { $0.value.isExpendable }.min { $0.value.turn < $1.value.turn }
        return found.flatMap { remove($0.key) }
      }
    }

    /// How often refused connections are logged.
    private static let tellingPace = Duration.seconds(1)

    private let live: Mutex<HTTPLimits>
    /// The limits now: a reload may change them.
    var limits: HTTPLimits { live.withLock { $0 } }
    /// Web proxies, whose connections carry many clients.
    private let proxies: ProxyAddresses
    /// Whether nobody else may connect.
    private let admitsProxiesOnly: Bool
    private let logger: Logger
    private let state = Mutex(State())

    init(
      _ limits: HTTPLimits, proxies: Set<String>, admitsProxiesOnly: Bool = false, logger: Logger
    ) {
      live = Mutex(limits)
      self.proxies = ProxyAddresses(proxies)
      self.admitsProxiesOnly = admitsProxiesOnly
      self.logger = logger
    }

    /// Uses other limits; connections that are open stay.
    func update(_ limits: HTTPLimits) { live.withLock { $0 = limits } }

    /// The number of open connections.
    var count: Int { state.withLock { $0.connections.count } }

    /// The number of connections that were refused for lack of room.
    var refusedCount: UInt64 { state.withLock { $0.refused } }

    // MARK: - Connections

    /// Counts a connection until ``close(_:)``.
    ///
    /// When there are as many as may be, the one that has been idle for longest without having shown a key is
    /// closed for it. So connections that do nothing cannot keep others out.
    ///
    /// - Returns: Whether there is room for it.
    func open(_ channel: any Channel) -> Bool {
      let origin = ConnectionOrigin(channel.remoteAddress)
      let isProxy = proxies.contains(channel.remoteAddress)
      let isForeign = admitsProxiesOnly && !isProxy
      let (isOpen, replaced, refused) = state.withLock { state -> (Bool, (any Channel)?, UInt64?) in
        var replaced: (any Channel)?
        let hasRoom = isProxy || state.byOrigin[origin, default: 0] < limits.connectionsByAddress
        let mayOpen = hasRoom && !isForeign
        if mayOpen, state.connections.count >= limits.connections {
          replaced = state.removeExpendable()?.channel
        }
        guard mayOpen, state.connections.count < limits.connections else {
          state.refused += 1
          let now = ContinuousClock.now
          if let told = state.toldRefusal, now - told < Self.tellingPace { return (false, nil, nil) }
          state.toldRefusal = now
          return (false, nil, state.refused)
        }
        state.connections[ObjectIdentifier(channel)] = Connection(
          channel: channel, origin: origin, turn: state.nextTurn())
        state.byOrigin[origin, default: 0] += 1
        return (true, replaced, nil)
      }
      replaced?.close(promise: nil)
      if let refused {
        let reason =
          isForeign
          ? "without TLS only the web proxies of http.proxies may connect"
          : "there are as many as may be, of all addresses or of one"
        logger.warning(
          "Connections are refused: \(reason)",
          metadata: [
            "address": "\(channel.remoteAddress?.unmappedIPAddress ?? "unknown")", "refused": "\(refused)",
          ])
      }
      return isOpen
    }

    /// Ends the counting of a connection; its requests are no longer needed.
    func close(_ channel: any Channel) {
      let connection = state.withLock { $0.remove(ObjectIdentifier(channel)) }
      connection?.record?.abandon(.abandoned)
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
      let hasShownKey = record.content.key != nil
      state.withLock { state in
        guard var connection = state.connections[id] else { return }
        if hasShownKey { connection.hasShownKey = true }
        if connection.record === record { connection.record = nil }
        connection.turn = state.nextTurn()
        state.connections[id] = connection
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

    /// The problem of a request whose client takes nothing of the response.
    static let stalled = Problem(.requestTimeout, "stalled", "the client took nothing of the answer in time")
  }
#endif
