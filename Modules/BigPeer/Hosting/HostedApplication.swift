#if Server
  import DocStore
  package import Facade
  import Foundation
  package import Logging
  import QueryEngine
  import Synchronization
  import SyncProtocol
  import Transports

  /// One application of a big peer: its store, its identity, and its other parts.
  package final class HostedApplication: Sendable {
    /// The id of the application for its peers.
    package let id: String
    /// The configuration in use.
    package var configuration: BigPeerConfiguration.Application { inUse.withLock { $0.configuration } }
    /// The contents of the files of the configuration in use.
    var material: ApplicationMaterial { inUse.withLock { $0.material } }
    /// Its database, which is a big peer.
    package let dunlin: Dunlin
    /// The parts of its database that are modules of their own.
    package let parts: DunlinParts
    /// A logger that names the application in each line.
    package let logger: Logger
    /// Its change feed.
    package let feed: ApplicationFeed
    /// Its login endpoint, audit log and revocations.
    package let logins: ApplicationLogins
    /// The keys of its web back ends.
    package let keys: APIKeys
    /// Whether its store is a restored copy.
    package let origin: StoreOrigin
    /// Its transactions, for clients that require one that they have seen.
    package let transactions: TransactionWatch
    private let interest: ApplicationInterest
    private let inUse: Mutex<InUse>
    private let isLooking = Atomic(false)

    /// The configuration and the contents of its files.
    private struct InUse {
      var configuration: BigPeerConfiguration.Application
      var material: ApplicationMaterial
    }

    /// Opens the application's store; devices can connect from ``start()`` on.
    ///
    /// - Parameters:
    ///   - configuration: The application.
    ///   - material: The contents of its files.
    ///   - logger: Gets log lines.
    /// - Throws: Why the store cannot be opened, with the application's id; then nothing is open.
    package init(
      _ configuration: BigPeerConfiguration.Application, _ material: ApplicationMaterial, logger: Logger
    ) throws {
      id = configuration.id
      var logger = logger
      logger[metadataKey: "application"] = "\(configuration.id)"
      self.logger = logger
      var opened: Dunlin?
      do {
        try Directory.make(configuration.folder)
        let material = try configuration.withSharedKey(material)
        inUse = Mutex(InUse(configuration: configuration, material: material))
        let dunlin = try Dunlin(
          path: configuration.storePath, identity: try configuration.dunlinIdentity(material),
          configuration: Self.dunlinConfiguration(configuration, logger))
        opened = dunlin
        self.dunlin = dunlin
        parts = dunlin.parts
        logins = try ApplicationLogins(dunlin, configuration, material, logger: logger)
        origin = try StoreOrigin(parts.store)
        keys = try APIKeys(parts.store) { [logger] in logger.error("\($0)") }
        transactions = try TransactionWatch(parts.store)
        interest = ApplicationInterest(dunlin, configuration, logger)
        feed = try ApplicationFeed(
          parts, configuration.feed, holdsDeliveries: origin.isRestored, logger: logger)
        if origin.isRestored { logger.warning("\(StoreOrigin.sentence)") }
      } catch {
        // Otherwise a later attempt would find the store in use.
        try? opened?.close()
        throw BigPeerError("the application \(configuration.id): \(error)", underlying: error)
      }
    }

    private static func dunlinConfiguration(
      _ configuration: BigPeerConfiguration.Application, _ logger: Logger
    ) -> DunlinConfiguration {
      var options = DunlinConfiguration(
        peerKind: .big, peerName: configuration.name, logger: logger, mapBytes: configuration.limits.mapBytes)
      options.keepsSystemParameters = true
      options.trustsCopies = configuration.trustsCopies
      options.webProxies = configuration.webProxies
      options.peerMemoryBytes = configuration.limits.deviceMemoryBytes
      options.allPeersMemoryBytes = configuration.limits.allDevicesMemoryBytes
      options.sessions = configuration.limits.sessions
      options.deletionLifetimes = (
        configuration.limits.tombstoneLifetime, configuration.limits.certificateLifetime
      )
      return options
    }

    /// Subscribes as configured, and lets devices connect.
    ///
    /// - Throws: The setting of an address that it cannot listen on; anything else with the application's id.
    package func start() throws {
      do {
        try interest.begin()
        try feed.start()
        try dunlin.startSync()
      } catch {
        throw BigPeerError("the application \(id): \(error)", underlying: error)
      }
      for (index, address) in configuration.devices.enumerated() {
        try listening("devices.listen[\(index)]") {
          try dunlin.listen(host: address.host, port: address.port)
        }
      }
      for (index, address) in configuration.webSockets.enumerated() {
        try listening("devices.webSocket[\(index)]") {
          try dunlin.listenForWebSockets(host: address.host, port: address.port)
        }
      }
    }

    private func listening(_ setting: String, _ listen: () throws -> Void) throws(BigPeerError) {
      do {
        try listen()
      } catch {
        let message = (error as? DunlinError)?.message ?? "\(error)"
        throw BigPeerError(material.places.fault(setting, message).description, underlying: error)
      }
    }

    /// Whether the store fails, so that the application has to be opened again.
    var isFailed: Bool {
      guard let statistics = try? dunlin.store.statistics() else { return true }
      return statistics.failure != nil
    }

    /// Whether the application can use other contents of its files while it stays open.
    ///
    /// It cannot use another shared key: nobody who has the former one may go on.
    func canTake(_ material: ApplicationMaterial) -> Bool {
      switch (self.material.identity, material.identity) {
      // A file that the server made and that is gone means no other key: all devices have the former one.
      case (.sharedKey(let former), .sharedKey(let next)): next == nil || next == former
      default: true
      }
    }

    /// Uses renewed certificates, a renewed intermediate authority and other lifetimes of deletions.
    ///
    /// The new certificates are used for all connections and logins that begin after this call. A login
    /// service's webhook and its secret are used for the next question. Lifetimes apply to what is stored,
    /// unless `ALTER SYSTEM` has set others.
    /// - Parameters:
    ///   - configuration: A configuration that the one in use can become: see
    ///     ``BigPeerConfiguration/Application/canBecome(_:)``.
    ///   - material: The contents of its files.
    /// - Throws: `BigPeerError` with the application's id; then nothing changes.
    func renew(
      _ configuration: BigPeerConfiguration.Application, _ material: ApplicationMaterial
    ) async throws {
      let former = self.configuration.limits
      do {
        let login = try LoginEndpoint.Service(configuration, material)
        try setLifetimes(configuration.limits, former)
        switch material.identity {
        case .certificate, .intermediate:
          try await dunlin.updateIdentity(try configuration.dunlinIdentity(material))
        case .sharedKey, .development: break
        }
        if let login { logins.endpoint?.renew(login) }
      } catch {
        try? setLifetimes(former, configuration.limits)
        throw BigPeerError("the application \(id): \(error)", underlying: error)
      }
      inUse.withLock { inUse in
        var material = material
        if case .sharedKey = material.identity { material.identity = inUse.material.identity }
        inUse = InUse(configuration: configuration, material: material)
      }
    }

    /// Remembers deletions for as long as limits say, if they differ from those before.
    private func setLifetimes(
      _ limits: BigPeerConfiguration.ApplicationLimits, _ former: BigPeerConfiguration.ApplicationLimits
    ) throws {
      guard
        limits.tombstoneLifetime != former.tombstoneLifetime
          || limits.certificateLifetime != former.certificateLifetime
      else { return }
      try parts.engine.parameters.setLifetimes(
        tombstoneHours: DeletionLifetime.hours(of: limits.tombstoneLifetime),
        certificateHours: limits.certificateLifetime.map(DeletionLifetime.hours(of:)) ?? 0)
    }

    /// When each certificate in use ends, by its use: `identity` or `login`.
    var certificateEnds: [String: Date] { material.certificateEnds }

    /// Makes a restored copy take the place of the original: webhooks and API keys work again, durably.
    ///
    /// - Returns: `false` if the store was no copy.
    /// - Throws: `StoreError`.
    package func resume() async throws -> Bool {
      guard try await origin.resume() else { return false }
      feed.webhooks.release()
      return true
    }

    /// Has a full store look, in the background, whether there is room again.
    ///
    /// Otherwise it would notice that at the next write, and who waits for the server to be ready sends none.
    func lookForRoom() {
      guard !isLooking.exchange(true, ordering: .relaxed) else { return }
      Task { [weak self] in
        // A store that is still full reports that by itself.
        _ = try? await self?.parts.store.write(hint: "room") { _ in }
        self?.isLooking.store(false, ordering: .relaxed)
      }
    }

    /// The number of collections that should be pulled from devices and are not.
    package var missingCollectionCount: Int { interest.missingCount }

    /// The addresses where devices connect now, such as `tcp://127.0.0.1:4040`.
    package var deviceAddresses: [String] { parts.network.listeningAddresses.sorted() }

    /// Ends sessions, waits for writes in flight, and closes the store, without blocking the caller's thread.
    package func close() async {
      await feed.stop()
      do {
        try await origin.noteSite()
      } catch {
        logger.error("The store's site could not be noted, so the next start takes it for a copy: \(error)")
      }
      await withCheckedContinuation { continuation in
        DispatchQueue.global().async { [self] in
          interest.end()
          transactions.end()
          do {
            try dunlin.close()
          } catch {
            logger.error("Closing the store failed: \(error)")
          }
          continuation.resume()
        }
      }
    }
  }
#endif
