#if Server
  import BenchmarkSupport
  import CRDTCore
  import DocStore
  import Foundation
  import Logging
  import QueryEngine
  import ScopePolicy
  import SyncProtocol
  import Synchronization
  import Transports

  /// One device: a store and its network, set up as in an application, with production fsync and limits.
  final class Device: Sendable {
    /// What has come of its attempts to connect.
    struct Attempts: Sendable {
      /// When it was connected, each time.
      var connectedAt: [Double] = []
      /// Nobody listened.
      var unanswered = 0
      /// A connection ended before the peers had met.
      var turnedAway = 0
    }

    /// What has happened to the device.
    private final class Course: Sendable {
      let arrivals = Mutex<[(changes: Int, time: Double)]>([])
      let attempts = Mutex(Attempts())
    }

    let store: Store
    private let network: PeerNetwork
    private let port: Int
    private let collection: String
    private let course = Course()
    private let watcher: Task<Void, Never>
    private let listener: CommitListener

    init(path: String, name: String, port: Int, key: [UInt8]?, collection: String) throws {
      self.port = port
      self.collection = collection
      var options = StoreOptions()
      options.mapBytes = 1 << 30
      options.log = { _, _ in }
      let device = DeviceKey()
      if key != nil {
        let peerKey = device.peerKey
        options.siteOfSalt = { (salt, _) throws(StoreError) in peerKey.site(salt: salt) }
      }
      store = try Store.open(at: path, options: options)
      listener = store.onCommit { [course] commit in
        let time = Measures.nanoseconds
        let count = commit.changes.count { $0.collection.name == collection }
        guard count > 0 else { return }
        course.arrivals.withLock { $0.append((($0.last?.changes ?? 0) + count, time)) }
      }
      var networkOptions = PeerNetwork.Options()
      networkOptions.logger = Logger(label: name) { _ in SwiftLogNoOpLogHandler() }
      networkOptions.requiresProof = key != nil
      network = PeerNetwork(
        setup: SessionDriver.Setup(
          store: store, gate: SyncScopes(),
          configuration: SessionConfiguration(kind: .small, peerName: name, appID: "default")),
        options: networkOptions)
      if let key {
        network.prove(with: try PeerCredentials(sharedKey: key, application: "default", key: device))
      }
      network.subscribe(to: [try SubscriptionQuery(dql: "SELECT * FROM \(collection)")])
      try network.start()
      let events = network.events()
      watcher = Task { [course] in
        for await event in events {
          course.attempts.withLock { attempts in
            switch event {
            case .connected: attempts.connectedAt.append(Measures.nanoseconds)
            case .attemptFailed: attempts.unanswered += 1
            case .disconnected(let connection, _) where connection.peer == nil: attempts.turnedAway += 1
            default: break
            }
          }
        }
      }
    }

    func connect() { network.connect(host: "127.0.0.1", port: port) }

    var connecting: Attempts { course.attempts.withLock { $0 } }

    /// Writes one small document.
    ///
    /// - Returns: When the write began.
    func write(_ id: String) async throws -> Double {
      let start = Measures.nanoseconds
      _ = try await store.write { [collection] in
        try $0.upsert(
          ["status": .string("open"), "amount": .int(7), "comment": .string("written at a device")],
          id: DocumentID(id), into: collection)
      }
      return start
    }

    /// Imports a JSON Lines file, 1,000 documents a transaction.
    func load(_ path: String) async throws {
      var reader = try CorpusReader(path: path)
      while true {
        let documents = try reader.next(1_000)
        guard !documents.isEmpty else { return }
        _ = try await store.write { [collection] transaction in
          for document in documents {
            try transaction.upsert(json: document.text.span.bytes, into: collection)
          }
        }
      }
    }

    /// Waits until so many changes have come.
    ///
    /// - Returns: When the last of them was durable here.
    func wait(for changes: Int) async throws -> Double {
      try await poll("\(changes) changes") {
        course.arrivals.withLock { log in
          guard (log.last?.changes ?? 0) >= changes else { return nil }
          return log.first { $0.changes >= changes }?.time
        }
      }
    }

    /// Waits until the device was connected so often.
    func waitForConnection(_ number: Int) async throws -> Double {
      try await poll("connection \(number)") {
        course.attempts.withLock { $0.connectedAt.count >= number ? $0.connectedAt[number - 1] : nil }
      }
    }

    private func poll(_ what: String, _ time: () -> Double?) async throws -> Double {
      let deadline = Measures.nanoseconds + 900e9
      while true {
        if let time = time() { return time }
        guard Measures.nanoseconds < deadline else {
          throw BenchmarkError("a device waits in vain for \(what)")
        }
        try await Task.sleep(for: .milliseconds(20))
      }
    }

    func close() async {
      watcher.cancel()
      await network.stop()
      listener.cancel()
      store.close()
    }
  }
#endif
