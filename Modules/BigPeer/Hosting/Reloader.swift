#if Server
  import Logging
  import Synchronization

  /// Takes another configuration, and replaced certificates and keys, while the server runs.
  ///
  /// Nothing is used before all settings and files are verified. New connections, requests and logins use
  /// what is new; connections that are open keep their certificates.
  final class Reloader: Sendable {
    /// The objects that a reload changes.
    struct Parts: Sendable {
      let applications: HostedApplications
      let certificate: ServerCertificate?
      let gate: APIGate
      let connections: ConnectionLedger
      let metrics: ServerMetrics
    }

    private let parts: Parts
    private let logger: Logger
    /// Reads the configuration again; `nil` if it was made in code.
    private let read: (@Sendable () throws -> BigPeerConfiguration)?
    private let inUse: Mutex<BigPeerConfiguration>
    private let isReloading = Mutex(false)

    /// - Parameters:
    ///   - configuration: The configuration in use.
    ///   - parts: The objects that a reload changes.
    ///   - logger: Gets a line about each reload.
    ///   - read: Reads the configuration again; `nil` if it was made in code.
    init(
      _ configuration: BigPeerConfiguration, _ parts: Parts, _ logger: Logger,
      read: (@Sendable () throws -> BigPeerConfiguration)?
    ) {
      inUse = Mutex(configuration)
      self.parts = parts
      self.logger = logger
      self.read = read
    }

    /// Reads the configuration and all files that it names, and uses them if all are valid.
    ///
    /// - Parameter given: A configuration to use in place of the one that is read.
    /// - Returns: What has changed.
    /// - Throws: `ConfigurationError` with all mistakes and their places; `BigPeerError` of an application
    ///   that cannot take its settings, or while another reload is in flight. Then nothing has changed. The
    ///   error is also logged.
    @discardableResult
    func reload(_ given: BigPeerConfiguration? = nil) async throws -> BigPeerReload {
      let outcome: BigPeerReload
      do {
        try begin()
        defer { isReloading.withLock { $0 = false } }
        // It goes on when the client that has asked for it goes away.
        outcome = try await Task { try await self.carryOut(given) }.value
      } catch {
        parts.metrics.reloaded(isDone: false)
        let mistakes = (error as? ConfigurationError)?.all.map(\.description).joined(separator: "; ")
        logger.error("The configuration was not reloaded, and nothing has changed: \(mistakes ?? "\(error)")")
        throw error
      }
      parts.metrics.reloaded(isDone: true)
      var metadata: Logger.Metadata = [:]
      for (name, values) in outcome.lists where !values.isEmpty {
        metadata[name] = "\(values.joined(separator: ", "))"
      }
      logger.notice("Configuration, certificates and keys were read again", metadata: metadata)
      return outcome
    }

    private func begin() throws(BigPeerError) {
      let isFirst = isReloading.withLock { isReloading in
        defer { isReloading = true }
        return !isReloading
      }
      guard isFirst else { throw BigPeerError("another reload is in flight") }
    }

    private func carryOut(_ given: BigPeerConfiguration?) async throws -> BigPeerReload {
      let former = inUse.withLock { $0 }
      var next = try given ?? read?() ?? former
      guard next.data == former.data else {
        throw next.places.fault(
          "data", "cannot change while the server runs, which uses \(former.data): restart it")
      }
      let material = try await StartMaterial(next, toleratesDamage: true)
      try material.checkValidity()
      let needsRestart = next.keepFixedSettings(of: former)
      let changes = try await parts.applications.apply(next.applications, material.applications)
      if let key = material.certificate { parts.certificate?.replace(by: key) }
      if next.http.limits != former.http.limits {
        parts.gate.update(next.http.limits)
        parts.connections.update(next.http.limits)
      }
      inUse.withLock { [next] in $0 = next }
      return BigPeerReload(
        added: changes.added, removed: changes.removed, reopened: changes.reopened,
        repaired: changes.repaired,
        missing: Dictionary(parts.applications.missing.map { ($0.id, $0.reason) }) { $1 },
        needsRestart: needsRestart)
    }
  }

  /// What a reload of a running ``BigPeer/BigPeer`` has changed.
  public struct BigPeerReload: Hashable, Sendable {
    /// Applications that are new in the configuration, and are served now.
    public let added: [String]
    /// Applications that the configuration no longer has; their files stay.
    public let removed: [String]
    /// Applications that were closed and opened again, for their devices to connect anew.
    public let reopened: [String]
    /// Applications that could not be served before, and are served now.
    public let repaired: [String]
    /// Applications that cannot be served, with the reasons.
    public let missing: [String: String]
    /// Settings that differ from those in use, and need a restart.
    public let needsRestart: [String]

    /// The lists by their names.
    var lists: [(name: String, values: [String])] {
      [
        ("added", added), ("removed", removed), ("reopened", reopened), ("repaired", repaired),
        ("missing", missing.keys.sorted()), ("needsRestart", needsRestart),
      ]
    }
  }
#endif
