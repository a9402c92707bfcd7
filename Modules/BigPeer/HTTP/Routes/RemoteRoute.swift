#if Server
  import QueryEngine
  import CRDTCore
  import Facade
  import Hummingbird
  import SyncProtocol

  /// The route `/api/v4/sync/remote_execute`: a SELECT that connected devices run on their own data.
  ///
  /// A device answers only if its application has enabled that.
  struct RemoteRoute: ServerRoute {
    /// The maximum number of devices that one request queries.
    private static let deviceLimit = 1_000
    /// The maximum number of devices that are queried at the same time.
    private static let width = 128
    /// The maximum number of rows of one device.
    private static let rowLimit = 10_000
    private static let longestTime = 60

    let gate: APIGate

    func add(to router: Router<ServerContext>) {
      router.post("/api/v4/sync/remote_execute") { request, context in try await execute(request, context) }
    }

    /// The query for each device.
    private struct Question: Sendable {
      let statement: String
      let arguments: [TextKey: Value]
      var time: Duration
      let rows: Int
      let bytes: Int
    }

    private func execute(_ request: Request, _ context: ServerContext) async throws -> Response {
      let admission = try gate.admit(request, context, needing: .read)
      var fields = try RequestFields(try await request.json(admission).value)
      let statement = try fields.requiredText("statement")
      let arguments = try fields.map("args") ?? [:]
      let names = try Self.names(try fields.list("peers", count: 1...Self.deviceLimit))
      let seconds = try fields.integer("timeout", in: 1...Self.longestTime) ?? 10
      let rows = try fields.integer("limit", in: 1...Self.rowLimit) ?? 1_000
      try fields.finish()
      try await admission.application.transactions.satisfy(request.headers)
      let application = admission.application
      do {
        // A mistake is reported here, and not once by each device.
        let prepared = try application.parts.engine.prepare(statement).statement
        guard prepared.isQuery else {
          throw Problem(.forbidden, "unsupported", "devices run SELECT alone for others")
        }
        try admission.check(prepared)
        let peers = try Self.peers(of: application, names)
        let question = Question(
          statement: statement, arguments: arguments, time: .seconds(seconds), rows: rows,
          bytes: max(admission.limits.answerBytes / max(peers.count, 1), 1_024))
        let results = await Self.ask(peers, question, application.dunlin, admission)
        let answer = Answer(transaction: application.transactions.newest)
        let bytes = Self.bytes(answer, results)
        guard bytes.count <= admission.limits.answerBytes else {
          throw Problem.answerTooLarge(admission.limits)
        }
        let headers = Response.jsonHeaders(transaction: answer.transaction.description)
        return .json(bytes, headers: headers, admission)
      } catch {
        throw Problem(any: error)
      }
    }

    private static func names(_ list: [Value]?) throws(Problem) -> [String]? {
      guard let list else { return nil }
      var names: [String] = []
      for (index, value) in list.enumerated() {
        guard let name = value.stringValue else { throw Problem.request("peers[\(index)] must be a text") }
        names.append(name)
      }
      return names
    }

    /// The connected devices, or those of them with an id, a key or a name.
    private static func peers(of application: HostedApplication, _ names: [String]?) throws -> [DunlinPeer] {
      let all = application.dunlin.presence.graph.remotePeers.filter { !$0.connections.isEmpty }
      guard let names else { return Array(all.prefix(deviceLimit)) }
      var chosen: [DunlinPeer] = []
      for name in names {
        let named = all.filter { $0.id == name || $0.peerKey == name || $0.deviceName == name }
        guard let peer = named.first, named.count == 1 else {
          throw named.isEmpty
            ? Problem(.notFound, "notFound", "a device that is named is not connected")
            : Problem(.conflict, "argument", "several devices have a name: say their ids")
        }
        if !chosen.contains(peer) { chosen.append(peer) }
      }
      return chosen
    }

    /// Queries all devices within the time of the request; late devices are reported as late.
    private static func ask(
      _ peers: [DunlinPeer], _ question: Question, _ dunlin: Dunlin, _ admission: Admission
    ) async -> [[UInt8]] {
      let end = ContinuousClock.now + question.time
      // A device that does not respond does not end the statement either.
      let answers = await TimedRound.run(peers, within: question.time + .seconds(1), width: width) { peer in
        var question = question
        question.time = max(end - .now, .milliseconds(1))
        return await rows(of: peer, question, dunlin, admission)
      }
      return zip(peers, answers).map { json(of: $0, $1) }
    }

    /// The response of one device as JSON: its rows, or why there are none or no more.
    private static func json(of peer: DunlinPeer, _ answer: (bytes: [UInt8], failure: Problem?)?) -> [UInt8] {
      let late = Problem(.serviceUnavailable, "timeout", "the device did not answer in time")
      let failure = answer == nil ? late : answer?.failure
      var bytes = answer?.bytes ?? []
      bytes = Array("{\"items\":[".utf8) + bytes
      bytes.append(contentsOf: "],\"peer\":".utf8)
      JSON.write(
        .map([
          "id": .string(peer.id), "name": .string(peer.deviceName),
          "key": peer.peerKey.map { .string($0) } ?? .null, "user": peer.user.map { .string($0) } ?? .null,
        ]), to: &bytes)
      if let failure {
        bytes.append(contentsOf: ",\"error\":".utf8)
        JSON.write(
          .map(["code": .string(failure.code.rawValue), "detail": .string(failure.message)]), to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
      return bytes
    }

    /// The rows of one device as JSON, separated by commas, and why there are no more.
    private static func rows(
      of peer: DunlinPeer, _ question: Question, _ dunlin: Dunlin, _ admission: Admission
    ) async -> (bytes: [UInt8], failure: Problem?) {
      var bytes: [UInt8] = []
      do {
        var limits = DunlinRemoteQueryLimits()
        limits.time = question.time
        limits.rows = question.rows
        limits.bytes = question.bytes
        var count = 0
        for try await row in try dunlin.sync.ask(question.statement, peer, question.arguments, limits) {
          var json: [UInt8] = []
          JSON.write(.map(row.fields), to: &json, options: .answer())
          guard bytes.count + json.count + 1_024 <= question.bytes else {
            throw Problem(.unprocessableContent, "limit", "the device's answer is larger than it may be")
          }
          try admission.reserveAnswer(more: json.count)
          if count > 0 { bytes.append(UInt8(ascii: ",")) }
          bytes.append(contentsOf: json)
          count += 1
        }
        return (bytes, nil)
      } catch {
        return (bytes, Problem(any: error))
      }
    }

    private static func bytes(_ answer: Answer, _ results: [[UInt8]]) -> [UInt8] {
      var bytes = answer.opening("results")
      bytes.append(contentsOf: results.joined(separator: [UInt8(ascii: ",")]))
      bytes.append(contentsOf: answer.closing())
      return bytes
    }
  }
#endif
