#if TLS
  import DocStore
  import DunlinKit
  import Foundation
  import Links
  import Logging
  import QueryEngine
  import ScopePolicy
  import SyncProtocol
  import TestKit
  import Testing
  import Transports

  /// Sync scopes go by the kind of a peer, which its certificate proves.
  @Suite(.timeLimit(.minutes(15))) struct ProvenKindTests {
    private static let validity = Date(timeIntervalSinceNow: -60)..<Date(timeIntervalSinceNow: 3_600)
    private let directory: TemporaryDirectory
    private let authority: DunlinAuthority

    init() throws {
      directory = try TemporaryDirectory()
      authority = try DunlinAuthority(appID: "tests", validity: Self.validity)
    }

    private func open(_ name: String, _ kind: DunlinPeerKind) throws -> Dunlin {
      let path = directory.file(name)
      let certificate = try authority.issue(
        deviceKey: try DunlinDevice.publicKey(path: path), kind: kind, validity: Self.validity)
      return try Dunlin(
        path: path,
        identity: .certificate(
          appID: "tests", authority: try authority.certificate, certificate: certificate),
        configuration: DunlinConfiguration(peerKind: kind, peerName: name, logger: RecordedLog().logger))
    }

    /// A device that holds documents for all peers, and others for big peers only, and listens.
    private func till() async throws -> (Dunlin, port: Int) {
      let till = try open("till", .small)
      _ = try await till.store.execute(
        query: "ALTER SYSTEM SET USER_COLLECTION_SYNC_SCOPES = :scopes",
        arguments: ["scopes": ["audit": "BigPeerOnly"]])
      try await till.collection("audit").upsert(["_id": "secret"])
      try await till.collection("orders").upsert(["_id": "open"])
      try till.listen()
      try till.startSync()
      return (till, try #require(till.listeningPorts.first))
    }

    private func wait(_ dunlin: Dunlin, for collection: String) async throws {
      for await diff in try dunlin.store.changes(of: "SELECT * FROM \(collection)") where !diff.items.isEmpty
      {
        return
      }
    }

    @Test func `what is for big peers only goes to a peer whose certificate says it is one`() async throws {
      let (till, port) = try await till()
      let (cloud, phone) = (try open("cloud", .big), try open("phone", .small))
      var subscriptions: [DunlinSyncSubscription] = []
      for peer in [cloud, phone] {
        subscriptions.append(try peer.sync.registerSubscription(query: "SELECT * FROM audit"))
        subscriptions.append(try peer.sync.registerSubscription(query: "SELECT * FROM orders"))
        peer.connect(host: "127.0.0.1", port: port)
        try peer.startSync()
      }
      try await wait(cloud, for: "audit")
      // It was written after the other one, so that would be here before it.
      try await wait(phone, for: "orders")
      #expect(try await phone.store.execute(query: "SELECT * FROM audit").items.isEmpty)
      #expect(Set(till.presence.graph.remotePeers.map(\.kind)) == [.big, .small])
      withExtendedLifetime(subscriptions) {}
      for peer in [cloud, phone, till] { try peer.close() }
    }

    @Test func `a device that says it is a big peer is refused, and gets nothing`() async throws {
      let (till, port) = try await till()
      let key = DeviceKey()
      var options = StoreOptions()
      options.siteOfSalt = { (salt, _) throws(StoreError) in key.peerKey.site(salt: salt) }
      let store = try Store.open(at: directory.file("thief"), options: options)
      var networkOptions = PeerNetwork.Options()
      networkOptions.requiresProof = true
      networkOptions.logger = RecordedLog().logger
      let thief = PeerNetwork(
        setup: SessionDriver.Setup(
          store: store, gate: SyncScopes(),
          configuration: SessionConfiguration(kind: .big, peerName: "thief", appID: "tests")),
        options: networkOptions)
      let certificate = try authority.issue(deviceKey: "\(key.peerKey)", validity: Self.validity)
      thief.prove(
        with: try PeerCredentials(
          key: key, certificate: PeerCertificate(pem: certificate),
          trusted: TrustedAuthority(pem: try authority.certificate)))
      thief.subscribe(to: try ["audit", "orders"].map { try SubscriptionQuery(dql: "SELECT * FROM \($0)") })
      let events = thief.events()
      thief.connect(host: "127.0.0.1", port: port)
      try thief.start()
      for await event in events {
        if case .connected = event { Issue.record("They met") }
        guard case .disconnected(_, let end) = event else { continue }
        guard case .session(let error) = end else {
          Issue.record("\(end)")
          break
        }
        expectEqual(error.code, .kindMismatch)
        expect(error.message.contains("--kind big"), "\(error)")
        break
      }
      #expect(till.presence.graph.remotePeers.isEmpty)
      for collection in ["audit", "orders"] {
        try expect(store.read { try $0.collection(collection) == nil }, "\(collection)")
      }
      await thief.stop()
      store.close()
      try till.close()
    }
  }
#endif
