import CRDTCore
import Foundation
import PeerControl
import TestKit

/// A peer on a machine of its own, which looks for neighbours.
final class NeighbourPeer: Sendable {
  let process: ChildPeer
  let name: String

  /// Starts `dunlin` on a machine, with everything of one collection subscribed to.
  ///
  /// - Parameters:
  ///   - name: What it is called.
  ///   - namespaces: The machines.
  ///   - machine: On which of them.
  ///   - directory: Where its store is, under its name.
  ///   - options: Further options of `dunlin serve`.
  /// - Throws: Where the program does not start, or refuses.
  init(
    _ name: String, on namespaces: NetworkNamespaces, _ machine: Int, in directory: TemporaryDirectory,
    _ options: [String] = []
  ) async throws {
    self.name = name
    let arguments = ["serve", directory.file(name), "--name", name, "--control"] + options
    let command = namespaces.command(machine, [Tool.path] + arguments)
    process = try ChildPeer(
      name: name, program: command[0], arguments: Array(command.dropFirst()),
      environment: ["SWIFT_BACKTRACE": "enable=no"])
    try await process.ask("subscribe", ["query": .string("SELECT * FROM things")])
    try await process.ask("discover")
    try await process.ask("start")
  }

  func write(_ id: String) async throws {
    _ = try await process.execute(
      "INSERT INTO things DOCUMENTS (:thing)", ["thing": .map(["_id": .string(id)])])
  }

  var documents: Set<String> {
    get async throws { Set(try await process.execute("SELECT _id FROM things").map { $0.text("_id") }) }
  }

  /// The peers that have said hello.
  var connections: Int { get async throws { try await process.ask("traffic").number("connections") } }

  /// Waits until these documents are here.
  func wait(forDocuments ids: Set<String>) async throws {
    while try await documents != ids { try await Task.sleep(for: .milliseconds(50)) }
  }

  /// Waits until so many peers are connected.
  func wait(forConnections count: Int) async throws {
    while try await connections != count { try await Task.sleep(for: .milliseconds(50)) }
  }

  /// Ends in order, while others watch.
  ///
  /// This call does not wait. The library that starts programs notices the end of one only when all programs
  /// that were started after it have ended too.
  func leave() { Thread.detachNewThread { [process] in process.stop() } }
}
