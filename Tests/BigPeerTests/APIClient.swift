#if Server
  import BigPeer
  import CRDTCore
  import Foundation
  import TestKit
  import Testing

  /// A client of the HTTP API of a big peer that runs.
  struct APIClient: Sendable {
    let client: PlainHTTPClient
    var headers: [String: String]

    init(_ url: String?, token: String?) throws {
      let text = try #require(url)
      let address: ListenAddress = try #require(ListenAddress(String(text.drop { $0 != "/" }.dropFirst(2))))
      client = PlainHTTPClient(address)
      headers = token.map { ["Authorization": "Bearer \($0)"] } ?? [:]
    }

    /// Sends a request without waiting on a thread of tasks.
    func send(
      _ method: String, _ path: String, _ body: String = "", headers more: [String: String] = [:]
    ) async throws -> PlainHTTPClient.Answer {
      var all = headers
      if !body.isEmpty { all["Content-Type"] = "application/json" }
      for (name, value) in more { all[name] = value.isEmpty ? nil : value }
      let (client, headers) = (client, all)
      return try await offTasks { try client.send(method, path, headers: headers, body: Array(body.utf8)) }
    }

    /// Sends a request with JSON, and reads the JSON of the answer.
    func post(
      _ path: String, _ body: String, headers: [String: String] = [:]
    ) async throws -> (status: Int, fields: [TextKey: Value], headers: [String: String]) {
      let answer = try await send("POST", path, body, headers: headers)
      guard case .map(let fields) = try JSON.parse(answer.body) else {
        Issue.record("The answer is no object: \(answer.text)")
        return (answer.status, [:], answer.headers)
      }
      return (answer.status, fields, answer.headers)
    }

    /// Executes a statement.
    func execute(
      _ statement: String, args: String = "{}", headers: [String: String] = [:]
    ) async throws -> (status: Int, fields: [TextKey: Value], headers: [String: String]) {
      let text = JSON.text(of: .string(statement))
      return try await post(
        "/api/v4/store/execute", "{\"statement\":\(text),\"args\":\(args)}", headers: headers)
    }
  }

  /// Runs what waits on a thread of its own: tasks and the global queues share a few.
  func offTasks<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
  }

  extension RunningBigPeer {
    /// The admin's client.
    func admin() throws -> APIClient {
      let token = try String(contentsOfFile: "\(configuration.data)/admin.token", encoding: .utf8)
      return try APIClient(
        addresses.admin, token: token.trimmingCharacters(in: .whitespacesAndNewlines))
    }

    /// A client with a new key.
    func api(_ right: String = "write", application: String = "default", seconds: Int? = nil) async throws
      -> APIClient
    {
      let time = seconds.map { ",\"seconds\":\($0)" } ?? ""
      let made = try await admin().post(
        "/admin/applications/\(application)/keys", "{\"name\":\"test\",\"right\":\"\(right)\"\(time)}")
      #expect(made.status == 201)
      return try APIClient(addresses.http, token: try #require(made.fields["token"]?.text))
    }
  }

  extension Value {
    var text: String? {
      guard case .string(let text) = self else { return nil }
      return text
    }

    var list: [Value]? {
      guard case .array(let list) = self else { return nil }
      return list
    }

    subscript(name: TextKey) -> Value? {
      guard case .map(let map) = self else { return nil }
      return map[name]
    }
  }
#endif
