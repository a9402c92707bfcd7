#if Server
  import CRDTCore
  import DocStore
  import Facade
  import HTTPTypes
  import Hummingbird
  import NIOCore
  import ScopePolicy
  import Synchronization

  /// Tries access rules on the documents of an application, for the administrator; nothing is written.
  ///
  /// The answer is lines of JSON. About once a second a line says how many `documents` of how many (`of`)
  /// were judged. The last line has `isComplete` and the result.
  struct RulesAdminRoutes: ServerRoute {
    let admin: AdminRoutes
    /// Whether rules are being tried: one request at a time does so, since it takes a processor.
    private let isTrying = Latch()

    init(admin: AdminRoutes) { self.admin = admin }

    /// The most users of one comparison.
    static let userLimit = 20
    /// The most bytes of a body: two texts of rules, and the users' claims.
    private static let bodyBytes = 512 << 10
    /// How long rules are tried if the request does not say, and at most, in seconds.
    static let time = (usual: 60, most: 3_600)

    func add(to router: Router<ServerContext>) {
      router.post("/admin/applications/:application/rules/try") { request, context in
        let application = try admin.application(request, context)
        var fields = try await admin.fields(request, atMost: Self.bodyBytes)
        let (rules, user) = (try Self.rules("rules", &fields), try Self.user(&fields))
        let seconds = try Self.seconds(&fields)
        try fields.finish()
        let compiled = CompiledRules(rules, claims: user.claims, user: user.id)
        return try answer(application, RulesTrial(compiled), seconds) { ("collections", $0.values) }
      }
      router.post("/admin/applications/:application/rules/diff") { request, context in
        let application = try admin.application(request, context)
        var fields = try await admin.fields(request, atMost: Self.bodyBytes)
        let (old, new) = (try Self.rules("old", &fields), try Self.rules("new", &fields))
        guard let list = try fields.list("users", count: 1...Self.userLimit) else {
          throw Problem.request("users must be a JSON array of users")
        }
        let seconds = try Self.seconds(&fields)
        try fields.finish()
        let users = try list.enumerated().map { index, value in
          var members = try RequestFields(value, at: "users[\(index)]")
          let user = try Self.user(&members)
          try members.finish()
          return user
        }
        return try answer(application, RulesDifference(users, from: old, to: new), seconds) {
          ("users", $0.values)
        }
      }
    }

    // MARK: - Requests

    private static func rules(_ name: TextKey, _ fields: inout RequestFields) throws -> AccessRules {
      guard let members = try fields.map(name) else { throw Problem.request("\(name) is missing") }
      do {
        return try AccessRules(.map(members))
      } catch {
        throw Problem.argument("\(name): \(error.message)")
      }
    }

    private static func user(_ fields: inout RequestFields) throws -> (id: String?, claims: Claims) {
      let id = try fields.text("user", bytes: LoginVerdict.userBytes)
      let claims = try fields.map("claims") ?? [:]
      do throws(RulesError) {
        return (id, try Claims(claims))
      } catch {
        throw Problem.argument(error.message)
      }
    }

    private static func seconds(_ fields: inout RequestFields) throws -> Duration {
      .seconds(try fields.integer("seconds", in: 1...time.most) ?? time.usual)
    }

    // MARK: - Answers

    /// Begins to judge all documents.
    ///
    /// - Throws: `busy` while rules are being tried for another request; `StoreError`.
    private func answer<Judge: RulesJudge & Sendable>(
      _ application: HostedApplication, _ judge: Judge, _ limit: Duration,
      result: @escaping @Sendable (Judge) -> (name: TextKey, value: Value)
    ) throws -> Response {
      guard let turn = isTrying.take() else {
        throw Problem.busy("rules are being tried for another request")
      }
      let scan: RulesScan
      do {
        scan = try RulesScan(application.parts.store)
      } catch {
        throw Problem(any: error)
      }
      return Response(
        status: .ok, headers: [.contentType: "application/x-ndjson", .cacheControl: "no-store"],
        body: ResponseBody { writer in
          try await Self.send(scan, judge, limit, turn, result, to: &writer)
        })
    }

    /// Judges page by page.
    ///
    /// If reading fails, the connection ends without the last line.
    @concurrent
    private static func send<Judge: RulesJudge & Sendable>(
      _ scan: RulesScan, _ judge: Judge, _ limit: Duration, _ turn: Latch.Turn,
      _ result: @Sendable (Judge) -> (name: TextKey, value: Value), to writer: inout any ResponseBodyWriter
    ) async throws {
      var (scan, judge) = (scan, judge)
      let start = ContinuousClock.now
      var told = start
      while try scan.next(&judge) {
        let now = ContinuousClock.now
        if now - start >= limit { break }
        if now - told >= .seconds(1) {
          told = now
          try await writer.write(line(["documents": .count(scan.count), "of": .count(scan.total)]))
        }
        try Task.checkCancellation()
        await Task.yield()
      }
      let (name, value) = result(judge)
      // Whoever reads the last line may ask again at once.
      turn.end()
      try await writer.write(
        line([
          "isComplete": .bool(scan.isComplete), "documents": .count(scan.count), "of": .count(scan.total),
          name: value,
        ]))
      try await writer.finish(nil)
    }

    private static func line(_ fields: [TextKey: Value]) -> ByteBuffer {
      var bytes: [UInt8] = []
      JSON.write(.map(fields), to: &bytes)
      bytes.append(UInt8(ascii: "\n"))
      return ByteBuffer(bytes: bytes)
    }
  }

  /// Admits one at a time.
  private final class Latch: Sendable {
    private let isTaken = Atomic(false)

    /// Held until it is ended or released.
    final class Turn: Sendable {
      private let latch: Latch
      private let isOver = Atomic(false)

      fileprivate init(_ latch: Latch) { self.latch = latch }

      func end() {
        guard !isOver.exchange(true, ordering: .relaxed) else { return }
        latch.isTaken.store(false, ordering: .releasing)
      }

      deinit { end() }
    }

    /// The turn; `nil` while another one is held.
    func take() -> Turn? { isTaken.exchange(true, ordering: .acquiring) ? nil : Turn(self) }
  }
#endif
