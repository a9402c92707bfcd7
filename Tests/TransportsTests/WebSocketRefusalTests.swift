import NIOHTTP1
import Testing

@testable import Links

/// Requests that do not begin a WebSocket, and why.
@Suite struct WebSocketRefusalTests {
  private func head(
    _ method: HTTPMethod = .GET, version: HTTPVersion = .http1_1, without name: String? = nil,
    adding more: [(String, String)] = []
  ) -> HTTPRequestHead {
    let usual = [
      ("Host", "test"), ("Connection", "keep-alive, Upgrade"), ("Upgrade", "WebSocket"),
      ("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ]
    return HTTPRequestHead(
      version: version, method: method, uri: "/", headers: HTTPHeaders(usual.filter { $0.0 != name } + more))
  }

  @Test func `a request for a WebSocket is not refused`() {
    #expect(WebSocketRefusal.of(head()) == nil)
    #expect(WebSocketRefusal.of(head(adding: [("Content-Length", "0")])) == nil)
    #expect(WebSocketRefusal.of(head(without: "Upgrade", adding: [("Upgrade", "h2c, websocket")])) == nil)
    #expect(WebSocketRefusal.of(head(adding: [("Sec-WebSocket-Extensions", "permessage-deflate")])) == nil)
  }

  @Test(arguments: [HTTPMethod.POST, .PUT, .HEAD, .OPTIONS, .DELETE])
  func `another method is 405, with the one that is allowed`(method: HTTPMethod) throws {
    let refusal = try #require(WebSocketRefusal.of(head(method)))
    #expect(refusal.status == .methodNotAllowed)
    #expect(refusal.fields == [.init(name: "Allow", value: "GET")])
  }

  @Test(
    arguments: [
      ("Upgrade", []), ("Connection", []), ("Connection", [("Connection", "close")]),
      ("Upgrade", [("Upgrade", "h2c")]), ("Sec-WebSocket-Version", []),
      ("Sec-WebSocket-Version", [("Sec-WebSocket-Version", "8")]),
      ("Sec-WebSocket-Version", [("Sec-WebSocket-Version", "13, 8")]),
      ("none", [("Sec-WebSocket-Version", "13")]),
    ] as [(String, [(String, String)])])
  func `no upgrade, or another version, is 426 with the version`(
    name: String, more: [(String, String)]
  ) throws {
    let refusal = try #require(WebSocketRefusal.of(head(without: name, adding: more)))
    #expect(refusal.status == .upgradeRequired)
    #expect(refusal.fields.contains(.init(name: "Sec-WebSocket-Version", value: "13")))
    #expect(refusal.fields.contains(.init(name: "Upgrade", value: "websocket")))
  }

  @Test(
    arguments: [
      ("Sec-WebSocket-Key", []), ("Sec-WebSocket-Key", [("Sec-WebSocket-Key", "")]),
      ("Sec-WebSocket-Key", [("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ")]),
      ("Sec-WebSocket-Key", [("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZ!==")]),
      ("Sec-WebSocket-Key", [("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZVE=")]),
      ("none", [("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")]), ("Host", []), ("none", [("Host", "b")]),
      ("none", [("Content-Length", "1")]), ("none", [("Transfer-Encoding", "chunked")]),
    ] as [(String, [(String, String)])])
  func `a request with odd fields is 400`(name: String, more: [(String, String)]) {
    #expect(WebSocketRefusal.of(head(without: name, adding: more))?.status == .badRequest)
  }

  @Test func `a request of HTTP 1.0 is 400`() {
    #expect(WebSocketRefusal.of(head(version: .http1_0))?.status == .badRequest)
  }
}
