#if Server
  import CRDTCore
  import HTTPTypes
  import Hummingbird
  import Links
  import Logging

  /// The administrator's requests about logins: revoked keys, and the audit log.
  struct LoginAdminRoutes: ServerRoute {
    /// The maximum number of entries of the audit log in one response.
    private static let entries = 1_000
    private static let usualEntries = 100

    let admin: AdminRoutes

    func add(to router: Router<ServerContext>) {
      router.get("/admin/applications/:application/revocations") { request, context in
        let application = try admin.application(request, context)
        return try admin.json([
          "revocations": .array(application.logins.revocations.all.map { .map($0.fields) })
        ])
      }
      router.post("/admin/applications/:application/revocations") { request, context in
        try await revoke(try admin.application(request, context), try await admin.fields(request))
      }
      router.get("/admin/applications/:application/audit") { request, context in
        try events(try admin.application(request, context), request)
      }
    }

    private func revoke(_ application: HostedApplication, _ fields: RequestFields) async throws -> Response {
      var fields = fields
      let text = try fields.requiredText("deviceKey", bytes: 256)
      let reason = try fields.text("reason", bytes: Revocations.textBytes)
      if let reason { try Problem.checkIsVisible(reason, "reason") }
      try fields.finish()
      let key: PeerKey
      do {
        key = try PeerKey(hexadecimal: text)
      } catch {
        throw Problem.request("deviceKey: \(error.message)")
      }
      let isNew: Bool
      do {
        isNew = try await application.logins.revocations.revoke(key, source: "admin", reason: reason)
      } catch let error as BigPeerError {
        application.logger.error("\(error)")
        // The administrator may see all details.
        throw Problem(.internalServerError, "notStored", error.description)
      }
      if isNew { application.logger.notice("A device key was revoked", metadata: ["device": "\(key)"]) }
      let revocation = application.logins.revocations.all.first { $0.peerKey == key }
      return try admin.json(revocation?.fields ?? [:], status: isNew ? .created : .ok)
    }

    private func events(_ application: HostedApplication, _ request: Request) throws -> Response {
      let parameters = try QueryParameters(request)
      let name = parameters["list"] ?? LoginAudit.List.issues.rawValue
      guard let list = LoginAudit.List(rawValue: name) else {
        throw Problem.request("list must be issues or refusals")
      }
      let count = parameters["count"].map { Int($0) } ?? Self.usualEntries
      guard let count, 1...Self.entries ~= count else {
        throw Problem.request("count must be a whole number from 1 to \(Self.entries)")
      }
      let page: LoginAudit.Page?
      do {
        page = try application.logins.audit.events(
          list, after: parameters["after"], count: count)
      } catch {
        throw Problem(any: error)
      }
      guard let page else { throw Problem.request("after must be the next of an earlier answer") }
      return try admin.json([
        "events": .array(page.events.map { .map($0.fields) }), "next": .string(page.next),
      ])
    }
  }
#endif
