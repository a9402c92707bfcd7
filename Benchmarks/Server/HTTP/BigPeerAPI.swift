#if Server
  import BenchmarkSupport
  import Foundation

  /// The HTTP API of a big peer, as far as the benchmark uses it.
  struct BigPeerAPI {
    let port: Int
    let token: String

    /// Has the server make a key that may write.
    init(_ server: BigPeerProcess, _ places: Places) throws {
      port = Int(try server.child.greeting.figure("http"))
      let admin = try String(
        contentsOf: places.server.appendingPathComponent("data/admin.token"), encoding: .utf8)
      let connection = try HTTPConnection(
        port: Int(try server.child.greeting.figure("admin")),
        token: admin.trimmingCharacters(in: .whitespacesAndNewlines))
      let answer = try connection.send(
        "POST", "/admin/applications/default/keys", #"{"name":"benchmark","right":"write"}"#)
      guard let fields = try JSONSerialization.jsonObject(with: Data(answer)) as? [String: Any],
        let token = fields["token"] as? String
      else { throw BenchmarkError("the server made no key") }
      self.token = token
    }

    static let path = "/api/v4/store/execute"

    /// Writes one document, given as JSON with its id.
    static func write(_ document: String) -> String {
      #"{"statement":"INSERT INTO orders DOCUMENTS (:document) ON ID CONFLICT DO UPDATE","args":{"document":"#
        + document + "}}"
    }

    /// Reads one document.
    static func read(_ id: String) -> String {
      #"{"statement":"SELECT * FROM orders WHERE _id = :id","args":{"id":"\#(id)"}}"#
    }
  }
#endif
