#if Server
  import CRDTCore
  import DocStore
  import Facade
  import Foundation
  import Hummingbird
  import Logging
  import SyncProtocol
  import Transports

  /// Erases documents for the administrator, and names the devices that have not confirmed it yet.
  struct EraseAdminRoute: ServerRoute {
    let admin: AdminRoutes

    /// The greatest number of documents of one request.
    static let documentLimit = 1_000
    /// The greatest number of devices that an answer names.
    private static let deviceLimit = 1_000
    /// How long the answer waits for connected devices to confirm.
    private static let patience = Duration.seconds(1)

    func add(to router: Router<ServerContext>) {
      router.post("/admin/applications/:application/erase") { request, context in
        let application = try admin.application(request, context)
        var fields = try await admin.fields(request)
        let collection = try fields.requiredText("collection", bytes: 100)
        let list = try fields.list("ids", count: 1...Self.documentLimit)
        try fields.finish()
        guard let list else { throw Problem.request("ids must be a JSON array of ids") }
        do {
          return try await admin.json(erase(list, in: collection, of: application))
        } catch {
          throw Problem(any: error)
        }
      }
    }

    private func erase(
      _ list: [Value], in collection: String, of application: HostedApplication
    ) async throws -> [TextKey: Value] {
      let ids = Set(try list.map { try DocumentID($0) }).sorted()
      let (found, receipt) = try await application.parts.store.write { transaction in
        try ids.filter { try transaction.erase($0, in: collection) }.count
      }
      // Without the ids: the log must not remember them.
      application.logger.notice(
        "Documents were erased",
        metadata: [
          "collection": "\(collection)", "documents": "\(ids.count)", "found": "\(found)",
          "sequence": "\(receipt.sequence)",
        ])
      let end = ContinuousClock.now + Self.patience
      while application.unconfirmed(receipt.sequence).contains(where: \.isConnected),
        ContinuousClock.now < end, !Task.isCancelled
      {
        try? await Task.sleep(for: .milliseconds(20))
      }
      let met = application.unconfirmed(receipt.sequence).map { Value.map($0.name) }
      let devices = met + (try application.unmet().map { .map($0.name) })
      return [
        "found": .count(found), "unknown": .count(ids.count - found),
        "sequence": .count(receipt.sequence), "unconfirmedCount": .count(devices.count),
        "unconfirmed": .array(Array(devices.prefix(Self.deviceLimit))),
        "limits": .string(DunlinErasure.limits),
      ]
    }
  }

  extension HostedApplication {
    /// The devices that are connected, or were since the start, and have not confirmed a commit.
    ///
    /// A device that pulls nothing is not waited for.
    fileprivate func unconfirmed(_ sequence: UInt64) -> [PeerSyncState] {
      dunlin.parts.network.standings.filter { standing in
        !standing.delivery.pullsNothing && (standing.delivery.servedSequence ?? 0) < sequence
      }
    }
  }

  extension HostedApplication {
    /// The devices that have logged in and were not connected since the start.
    fileprivate func unmet() throws -> [LoginEvent] {
      let met = Set(dunlin.parts.network.standings.compactMap { $0.connection.identity.map { "\($0.key)" } })
      return try logins.audit.devices(at: Date()).filter { !met.contains($0.deviceKey ?? "") }
    }
  }

  extension LoginEvent {
    fileprivate var name: [TextKey: Value] {
      [
        "deviceKey": deviceKey.map { .string($0) } ?? .null, "user": user.map { .string($0) } ?? .null,
        "isConnected": .bool(false),
      ]
    }
  }

  extension PeerSyncState {
    fileprivate var name: [TextKey: Value] {
      [
        "id": .string(peer.site.description), "name": .string(peer.name),
        "user": connection.identity?.user.map { .string($0) } ?? .null, "isConnected": .bool(isConnected),
      ]
    }
  }
#endif
