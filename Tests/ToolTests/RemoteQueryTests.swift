import DunlinKit
import Foundation
import TestKit
import Testing

/// A statement that another process runs.
@Suite(.timeLimit(.minutes(15))) struct RemoteQueryTests {
  @Test func `a served store answers the queries of another process, and its end ends them`() async throws {
    let directory = try TemporaryDirectory()
    let served = directory.file("served")
    let text = String(repeating: "x", count: 400)
    let lines = (0..<3_000).map { #"{"_id":"f\#($0)","n":\#($0),"text":"\#(text)"}"# }
    let imported = try Tool.run(
      ["import", served, "flights", "-"], in: directory.path, input: lines.joined(separator: "\n"))
    try #require(imported.status == 0, "\(imported.errors)")
    let server = Tool.process([
      "serve", served, "--app", "tests", "--listen", "127.0.0.1:0", "--answer-queries",
    ])
    let output = Pipe()
    server.standardOutput = output
    try server.run()
    defer { if server.isRunning { server.terminate() } }
    let said = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    let port = try #require(
      said.firstMatch(of: /listening on port (\d+): tcp:/).flatMap { Int($0.1) }, "\(said)")

    let dunlin = try Dunlin(path: directory.file("asker"), identity: .unsafeDevelopment(appID: "tests"))
    dunlin.connect(host: "127.0.0.1", port: port)
    try dunlin.startSync()
    let sum = try await whenConnected(dunlin) { peer in
      var sum = 0
      for try await row in try dunlin.sync.query(
        "SELECT n FROM flights WHERE n >= :low", on: peer, arguments: ["low": 1_000])
      {
        sum += row["n"].int ?? 0
      }
      return sum
    }
    #expect(sum == (1_000..<3_000).reduce(0, +))

    // The other process dies while its answer is read.
    var seen = 0
    let code = try await whenConnected(dunlin) { peer -> DunlinError.Code? in
      do {
        for try await _ in try dunlin.sync.query("SELECT * FROM flights", on: peer) {
          seen += 1
          if seen == 1 { kill(server.processIdentifier, SIGKILL) }
        }
        return nil
      } catch let error as DunlinError where seen > 0 {
        return error.code
      }
    }
    #expect(code == .closed)
    #expect(seen < 3_000)
    try dunlin.close()
  }

  /// Carries out what needs a peer, anew where the other tests left this one no time for it.
  private func whenConnected<Result>(
    _ dunlin: Dunlin, _ body: (DunlinPeer) async throws -> Result
  ) async throws -> Result {
    for await graph in dunlin.presence.graphs {
      guard let peer = graph.remotePeers.first else { continue }
      while true {
        do {
          return try await body(peer)
        } catch let error as DunlinError where error.code == .timeout {
          continue
        } catch let error as DunlinError where error.code == .unreachable {
          break
        }
      }
    }
    throw CancellationError()
  }
}
