#if Server
  import CRDTCore
  import DocStore
  import Facade
  import Hummingbird
  import Logging

  /// Erases documents for the administrator, and names the devices that have not confirmed it yet.
  struct EraseAdminRoute: ServerRoute {
    let admin: AdminRoutes

    /// The greatest number of documents of one request.
    static let documentLimit = 1_000

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
      // The documents are erased: from here on nothing fails.
      let devices = await application.unconfirmedDevices(
        of: receipt.sequence, waiting: UnconfirmedDevices.patience)
      var answer: [TextKey: Value] = [
        "found": .count(found), "unknown": .count(ids.count - found),
        "sequence": .count(receipt.sequence), "unconfirmed": .array(devices.names),
      ]
      answer.merge(devices.counts) { $1 }
      return answer
    }
  }
#endif
