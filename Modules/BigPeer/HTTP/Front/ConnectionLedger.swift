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
      /// The key or the token of its latest request that was admitted with one.
      var credential: String?
      /// Why no further request of it is carried out.
      var ending: Problem?

      /// Whether somebody waits for an answer on it.
      var isBusy: Bool { record != nil }
      /// Whether a request on it was admitted, also the one in progress.
      var hasShownKey: Bool { credential != nil || record?.credential != nil }
    }

    /// A connection that may be closed for another one.
    private struct Candidate {
      let id: ObjectIdentifier
      let turn: UInt64

      /// This one, or the other if that is older.
      func older(than other: Candidate?) -> Candidate {
        other.map { $0.turn < turn ? $0 : self } ?? self
      }
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

      /// Removes a connection to make room for another one.
      ///
      /// That is the one that has been idle for longest without having shown a key. If all others have shown
      /// one, it is the one whose request without a key has been in progress for longest. If all have shown a
      /// key, it is an idle one of the key with the most connections, if these are more than a quarter.
      ///
      /// - Parameter origin: The address whose connections are considered; `nil` for those of all.
      /// - Returns: The connection; `nil` if none may be closed.
      /// - Complexity: O(*n*) in the connections.
      mutating func removeExpendable(of origin: ConnectionOrigin? = nil) -> Connection? {
        var (idle, busy): (Candidate?, Candidate?)
        var byCredential: [String: (count: Int, oldest: Candidate?)] = [:]
        for (id, connection) in connections where origin == nil || connection.origin == origin {
          let candidate = Candidate(id: id, turn: connection.turn)
          if let credential = connection.credential {
            var known = byCredential[credential] ?? (0, nil)
            known.count += 1
            if !connection.isBusy { known.oldest = candidate.older(than: known.oldest) }
            byCredential[credential] = known
          } else if !connection.isBusy {
            idle = candidate.older(than: idle)
          } else if !connection.hasShownKey {
            busy = candidate.older(than: busy)
          }
        }
        if let found = idle ?? busy { return remove(found.id) }
        guard origin == nil, let most = byCredential.values.max(by: { $0.count < $1.count }),
          most.count > connections.count / 4
        else { return nil }
        return most.oldest.flatMap { remove($0.id) }
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
    /// When there are as many as may be, of all addresses or of one, another one is closed for it: see
    /// ``State/removeExpendable(of:)``. So connections that do nothing cannot keep others out.
    ///
    /// - Returns: Whether there is room for it.
    func open(_ channel: any Channel) -> Bool {
      let origin = ConnectionOrigin(channel.remoteAddress)
      let isProxy = proxies.contains(channel.remoteAddress)
      let isForeign = admitsProxiesOnly && !isProxy
      let (isOpen, replaced, refused) = state.withLock { state -> (Bool, Connection?, UInt64?) in
        var replaced: Connection?
        if !isProxy, !isForeign, state.byOrigin[origin, default: 0] >= limits.connectionsByAddress {
          replaced = state.removeExpendable(of: origin)
        }
        let hasRoom = isProxy || state.byOrigin[origin, default: 0] < limits.connectionsByAddress
        let mayOpen = hasRoom && !isForeign
        if mayOpen, state.connections.count >= limits.connections {
          replaced = state.removeExpendable()
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
      replaced?.record?.abandon(.replaced)
      replaced?.channel.close(promise: nil)
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
      let credential = record.credential
      state.withLock { state in
        guard var connection = state.connections[id] else { return }
        if let credential { connection.credential = credential }
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

    /// The problem of a request without a key whose connection was closed for another one.
    static let replaced = Problem(.requestTimeout, "connection", "the connection was closed for another one")

    /// The problem of a request whose client takes nothing of the response.
    static let stalled = Problem(.requestTimeout, "stalled", "the client took nothing of the answer in time")
  }
#endif
