import DunlinControl
import DunlinKit
import Facade
import Foundation
import Logging
import TestKit
import Testing

/// Commands on a server with several applications, which has one control socket.
@Suite(.timeLimit(.minutes(15))) struct RunningServerTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  /// Runs a command that asks this process, on a thread of its own.
  private func run(_ arguments: [String]) async throws -> Tool.Outcome {
    let folder = directory.path
    return try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try Tool.run(arguments, in: folder) }) }
    }
  }

  @Test func `an application is chosen by its id, or by the directory of its store`() async throws {
    let data = directory.file("data")
    let stores = ["shop", "depot"].map { "\(data)/applications/\($0)/store" }
    for store in stores {
      try FileManager.default.createDirectory(atPath: store, withIntermediateDirectories: true)
    }
    let shop = try Dunlin(path: stores[0], identity: .unsafeDevelopment(appID: "shop"))
    let depot = try Dunlin(path: stores[1], identity: .unsafeDevelopment(appID: "depot"))
    try await depot.store.write { tx in _ = try tx["cars"].upsert(["_id": "a"]) }
    let socket = ServerControlSocket()
    _ = try socket.open(in: data, release: "0", logger: Logger(label: "tests")) {
      [shop.controlled(as: "shop"), depot.controlled(as: "depot")]
    }
    let status = try await run(["status", data, "--application", "depot", "--json"])
    #expect(status.output.contains("\"app\":\"depot\""), "\(status)")
    let top = try await run(["top", data, "--application", "shop", "--once", "--interval", "0.1"])
    #expect(top.status == 0, "\(top)")
    let why = try await run(["why", data, "cars", "a", "--at", "till", "--application", "depot"])
    #expect(why.errors.contains("no peer 'till' is there"), "\(why)")
    let rows = try await run(["query", data, "SELECT * FROM cars", "--application", "depot", "--json"])
    #expect(rows.output == "{\"_id\":\"a\"}\n", "\(rows)")
    // The store's own directory is enough, for all commands.
    let stats = try await run(["stats", stores[1], "--json"])
    #expect(stats.output.contains("\"documents\":1"), "\(stats)")
    let written = try await run(["query", stores[0], "INSERT INTO cars DOCUMENTS ({'_id': 'b'})"])
    #expect(written.status == 0, "\(written)")
    #expect(try await shop.store.execute(query: "SELECT * FROM cars").items.count == 1)
    let open = try await run(["status", data])
    #expect(open.status == 1)
    #expect(open.errors.contains("say which with --application: shop, depot"), "\(open)")
    let unknown = try await run(["status", data, "--application", "bank"])
    #expect(unknown.errors.contains("the server has no application bank; it has shop, depot"), "\(unknown)")
    socket.close()
    let gone = try await run(["status", stores[0]])
    #expect(gone.errors.contains("no peer answers for this store"), "\(gone)")
    let none = try await run(["query", data, "SELECT 1", "--application", "shop"])
    #expect(none.errors.contains("no server answers in this directory"), "\(none)")
    try shop.close()
    try depot.close()
  }
}
