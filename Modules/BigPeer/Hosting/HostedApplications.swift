#if Server
  import Facade
  import Links
  package import Logging
  import Synchronization

  /// The applications of one big peer: those that are served, and those that cannot be.
  ///
  /// An application that cannot be opened does not keep the others from being served. A reload opens it
  /// again, and adds and removes applications as the configuration says.
  package final class HostedApplications: Sendable {
    private struct State {
      /// The ids in the configuration's order.
      var order: [String] = []
      var served: [String: HostedApplication] = [:]
      var missing: [String: MissingApplication] = [:]
      /// The applications, in the configuration's order; kept, since each request reads it.
      var all: [HostedApplication] = []
      /// Whether the server stops, so that a reload in flight opens nothing more.
      var isOver = false

      mutating func settle() { all = order.compactMap { served[$0] } }
    }

    private let state = Mutex(State())
    /// Whether a reload is at work.
    private let isChanging = Atomic(false)
    private let logger: Logger

    /// Opens applications and lets devices connect.
    ///
    /// What keeps one application from being served is logged, and the others are served.
    /// - Parameters:
    ///   - configurations: The applications.
    ///   - materials: The contents of the files of each, in the same order.
    ///   - logger: Gets log lines.
    /// - Returns: The applications.
    /// - Throws: `BigPeerError` that names the application, or the damage of its directory, if none can be
    ///   served; then nothing is open.
    package static func open(
      _ configurations: [BigPeerConfiguration.Application], _ materials: [ApplicationMaterial],
      logger: Logger
    ) async throws -> HostedApplications {
      let applications = HostedApplications(logger)
      var failures: [(configuration: BigPeerConfiguration.Application, error: any Error)] = []
      for (configuration, material) in zip(configurations, materials) {
        applications.state.withLock { $0.order.append(configuration.id) }
        do {
          try await applications.begin(configuration, material)
        } catch {
          failures.append((configuration, error))
        }
      }
      if let failure = failures.first, applications.all.isEmpty { throw failure.error }
      for (configuration, error) in failures { applications.miss(configuration, error) }
      return applications
    }

    private init(_ logger: Logger) { self.logger = logger }

    /// The applications that are served, in the configuration's order.
    package var all: [HostedApplication] { state.withLock { $0.all } }

    /// The applications that cannot be served, in the configuration's order.
    package var missing: [MissingApplication] {
      state.withLock { state in state.order.compactMap { state.missing[$0] } }
    }

    /// The application of an id; `nil` if it is not served.
    package subscript(id: String) -> HostedApplication? { state.withLock { $0.served[id] } }

    /// The application of an id that cannot be served; `nil` if it is served, or if there is none.
    func missing(_ id: String) -> MissingApplication? { state.withLock { $0.missing[id] } }

    /// Closes all applications; the devices of all are disconnected first.
    package func close() async {
      let all = state.withLock { state in
        state.isOver = true
        return state.all
      }
      for application in all { application.dunlin.stopSync() }
      for application in all { await application.close() }
    }

    // MARK: - Changes

    /// Opens an application, lets devices connect, and serves it.
    ///
    /// - Parameters:
    ///   - configuration: The application.
    ///   - material: The contents of its files.
    /// - Throws: `BigPeerError` that names it; then it is not open.
    private func begin(
      _ configuration: BigPeerConfiguration.Application, _ material: ApplicationMaterial
    ) async throws {
      let application = try await open(configuration, material)
      do {
        try application.start()
      } catch {
        await application.close()
        throw error
      }
      let isServed = state.withLock { state in
        guard !state.isOver else { return false }
        if !state.order.contains(application.id) { state.order.append(application.id) }
        state.served[application.id] = application
        state.missing[application.id] = nil
        state.settle()
        return true
      }
      guard isServed else {
        await end(application)
        throw BigPeerError("the server stops")
      }
    }

    /// Opens an application; waits for a while if the store is in use.
    ///
    /// Answers that are still being read keep the files of a store that was closed a moment ago.
    private func open(
      _ configuration: BigPeerConfiguration.Application, _ material: ApplicationMaterial
    ) async throws -> HostedApplication {
      if let damage = material.damage { throw damage }
      let end = ContinuousClock.now + (isChanging.load(ordering: .relaxed) ? Self.lockTime : .zero)
      while true {
        do {
          return try HostedApplication(configuration, material, logger: logger)
        } catch let error as BigPeerError {
          let isInUse = (error.underlying as? DunlinError)?.code == .alreadyOpen
          guard isInUse, ContinuousClock.now < end else { throw error }
          try await Task.sleep(for: .milliseconds(50))
        }
      }
    }

    /// How long a reload waits for the files of a store that it has closed.
    private static let lockTime = Duration.seconds(20)

    /// Records that an application cannot be served, and logs why.
    private func miss(_ configuration: BigPeerConfiguration.Application, _ error: any Error) {
      suspend(configuration, "\(error)")
      logger.error(
        "An application is not served, and the others are: \(error)",
        metadata: ["application": "\(configuration.id)"])
    }

    /// Serves an application no longer; its clients are told that it cannot be served now.
    private func suspend(_ configuration: BigPeerConfiguration.Application, _ reason: String) {
      state.withLock { state in
        state.served[configuration.id] = nil
        state.missing[configuration.id] = MissingApplication(configuration, reason)
        state.settle()
      }
    }

    /// Disconnects the devices of an application, and closes it.
    private func end(_ application: HostedApplication) async {
      application.dunlin.stopSync()
      await application.close()
    }

    // MARK: - Reloading

    /// What a reload has done to the applications, each by its id.
    struct Changes: Sendable {
      var added: [String] = []
      var removed: [String] = []
      /// Closed and opened again, for a setting that an open one cannot take, or since its store had failed.
      var reopened: [String] = []
      /// Served again, after they could not be.
      var repaired: [String] = []
    }

    /// Adds, removes and changes applications, so that they are those of a configuration.
    ///
    /// One call runs at a time. An application that could not be served, and still cannot be, is no failure.
    /// - Parameters:
    ///   - configurations: The applications.
    ///   - materials: The contents of the files of each, in the same order.
    /// - Returns: What was done.
    /// - Throws: `BigPeerError` that names an application that cannot take its new settings. Then all
    ///   applications are as before; those that were closed for the change were opened again.
    func apply(
      _ configurations: [BigPeerConfiguration.Application], _ materials: [ApplicationMaterial]
    ) async throws -> Changes {
      // Relaxed: only this task reads it.
      isChanging.store(true, ordering: .relaxed)
      defer { isChanging.store(false, ordering: .relaxed) }
      let former = state.withLock { ($0.order, $0.missing) }
      var (changes, work) = (Changes(), Work())
      do {
        try await apply(Array(zip(configurations, materials)), &changes, &work)
      } catch {
        await putBack(work, former)
        throw error
      }
      state.withLock { state in
        state.order = configurations.map(\.id)
        let ids = Set(state.order)
        state.missing = state.missing.filter { ids.contains($0.key) }
        state.settle()
      }
      return changes
    }

    /// What a reload has to undo if it fails.
    private struct Work {
      /// Applications that were closed, with what they were opened with.
      var closed: [(configuration: BigPeerConfiguration.Application, material: ApplicationMaterial)] = []
      /// Applications that were opened.
      var opened: [String] = []
      /// Applications with renewed files, and the former ones.
      var renewed:
        [(
          application: HostedApplication, configuration: BigPeerConfiguration.Application,
          material: ApplicationMaterial
        )] = []
    }

    private func apply(
      _ all: [(configuration: BigPeerConfiguration.Application, material: ApplicationMaterial)],
      _ changes: inout Changes, _ work: inout Work
    ) async throws {
      let wanted = Dictionary(all.map { ($0.configuration.id, $0) }) { $1 }
      let served = self.all
      var broken: Set<String> = []
      // All that end do so first: what takes their place may need their addresses and directories.
      for application in served {
        let next = wanted[application.id]
        let canStay =
          next.map {
            application.configuration.canBecome($0.configuration) && application.canTake($0.material)
          }
          ?? false
        let isFailed = application.isFailed
        if canStay, !isFailed { continue }
        // Nobody has asked for another one: that it cannot be opened is no mistake of the configuration.
        if canStay { broken.insert(application.id) }
        work.closed.append((application.configuration, application.material))
        if next == nil { changes.removed.append(application.id) }
        suspend(application.configuration, "it is being \(next == nil ? "removed" : "opened again")")
        await end(application)
      }
      let closed = Set(work.closed.map(\.configuration.id))
      for (configuration, material) in all {
        let id = configuration.id
        if let application = self[id] {
          // It is open, and has no use for what is damaged.
          guard material.damage == nil else { continue }
          let former = (application, application.configuration, application.material)
          try await application.renew(configuration, material)
          work.renewed.append(former)
        } else if broken.contains(id) || missing(id) != nil && !closed.contains(id) {
          do {
            try await begin(configuration, material)
          } catch {
            miss(configuration, error)
            continue
          }
          work.opened.append(id)
          if closed.contains(id) { changes.reopened.append(id) } else { changes.repaired.append(id) }
        } else {
          try await begin(configuration, material)
          work.opened.append(id)
          if closed.contains(id) { changes.reopened.append(id) } else { changes.added.append(id) }
        }
      }
    }

    /// Undoes a reload that has failed.
    private func putBack(
      _ work: Work, _ former: (order: [String], missing: [String: MissingApplication])
    ) async {
      for (application, configuration, material) in work.renewed.reversed() {
        do {
          try await application.renew(configuration, material)
        } catch {
          logger.error("The former certificates cannot be used again: \(error)")
        }
      }
      for id in work.opened {
        guard let application = self[id] else { continue }
        suspend(application.configuration, "it is being closed")
        await end(application)
      }
      let closed = Set(work.closed.map(\.configuration.id))
      state.withLock { state in
        state.order = former.order
        let others = state.missing.filter { closed.contains($0.key) }
        state.missing = former.missing.merging(others) { $1 }
        state.settle()
      }
      for (configuration, material) in work.closed {
        do {
          try await begin(configuration, material)
        } catch {
          miss(configuration, error)
        }
      }
    }
  }

  /// An application of the configuration that cannot be served now.
  package struct MissingApplication: Sendable {
    package let id: String
    /// Its name for other peers.
    let name: String
    /// The path at which its devices log in; `nil` if it has no login endpoint.
    let loginPath: String?
    /// How long clients are asked to wait.
    static let patience = Duration.seconds(30)

    /// Why, for the administrator: it may name files.
    package let reason: String

    init(_ configuration: BigPeerConfiguration.Application, _ reason: String) {
      id = configuration.id
      name = configuration.name
      loginPath = configuration.login.flatMap { try? HTTPSAddress($0.url).path }
      self.reason = reason
    }
  }
#endif
