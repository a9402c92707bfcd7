import ArgumentParser
import CRDTCore
import Foundation
import PeerControl
import TestKit

/// Measures how fast peers find each other on a local network.
struct DiscoveryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "discovery", abstract: "Measures how fast peers find each other on a local network.")

  /// From the start of a peer to the first document of a neighbour that runs already.
  private static let firstDocumentLimit = Duration.seconds(1)
  /// Until all peers that start at once hold the documents of all.
  private static let allDocumentsLimit = Duration.seconds(5)

  @Option(help: "The path of `dunlin`.")
  var dunlin: String
  @Option(help: "How many runs of each kind.")
  var runs = 10
  @Option(help: "Peers that start at once, 2 to 100.")
  var peers = 20

  func validate() throws {
    guard (2...100).contains(peers) else { throw ValidationError("--peers: 2 to 100") }
    guard (1...1_000).contains(runs) else { throw ValidationError("--runs: 1 to 1,000") }
  }

  func run() async throws {
    signal(SIGPIPE, SIG_IGN)
    if let obstacle = NetworkNamespaces.obstacle { return print("skipped: \(obstacle)") }
    var failed = false
    failed = try await measure("first document", within: Self.firstDocumentLimit, firstDocument) || failed
    failed =
      try await measure("\(peers) peers, all documents", within: Self.allDocumentsLimit, allDocuments)
      || failed
    if failed { throw ExitCode(1) }
  }

  /// Measures several times and prints what came out.
  ///
  /// - Returns: Whether a time was over the limit.
  private func measure(
    _ name: String, within limit: Duration, _ body: () async throws -> Duration
  ) async throws -> Bool {
    var times: [Duration] = []
    for _ in 0..<runs { times.append(try await body()) }
    times.sort()
    let good = times.count { $0 <= limit }
    func text(_ time: Duration) -> String { time.formatted(.units(allowed: [.milliseconds], width: .narrow)) }
    print(
      """
      \(name): least \(text(times[0])), median \(text(times[times.count / 2])), most \(text(times[times.count - 1])); \
      \(good) of \(runs) within \(text(limit))
      """)
    return good < runs
  }

  /// From the start of a peer to the document of its neighbour on another machine.
  private func firstDocument() async throws -> Duration {
    let network = try NetworkNamespaces(machines: 2)
    let directory = try TemporaryDirectory()
    let first = try await Neighbour("first", on: network, 0, in: directory, program: dunlin)
    defer { first.stop() }
    try await first.write()
    try await first.begin()
    // Until it has announced itself and is at rest.
    try await Task.sleep(for: .seconds(5))
    let second = try await Neighbour("second", on: network, 1, in: directory, program: dunlin)
    defer { second.stop() }
    return try await ContinuousClock().measure {
      try await second.begin()
      try await second.wait(forDocuments: 1)
    }
  }

  /// From the start of many peers on one machine until each holds the documents of all.
  private func allDocuments() async throws -> Duration {
    let network = try NetworkNamespaces(machines: 1)
    let directory = try TemporaryDirectory()
    var all: [Neighbour] = []
    defer { for peer in all { peer.stop() } }
    for number in 0..<peers {
      let peer = try await Neighbour("peer\(number)", on: network, 0, in: directory, program: dunlin)
      all.append(peer)
      try await peer.write()
    }
    let started = all
    return try await ContinuousClock().measure {
      try await withThrowingDiscardingTaskGroup { group in
        for peer in started {
          group.addTask {
            try await peer.begin()
            try await peer.wait(forDocuments: started.count)
          }
        }
      }
    }
  }
}

/// A peer on a machine, which has subscribed to everything and looks for nobody yet.
private struct Neighbour: Sendable {
  private let name: String
  private let process: ChildPeer

  init(
    _ name: String, on network: NetworkNamespaces, _ machine: Int, in directory: TemporaryDirectory,
    program: String
  ) async throws {
    self.name = name
    let command = network.command(
      machine, [program, "serve", directory.file(name), "--name", name, "--control"])
    process = try ChildPeer(name: name, program: command[0], arguments: Array(command.dropFirst()))
    try await process.ask("subscribe", ["query": .string("SELECT * FROM things")])
  }

  func write() async throws {
    _ = try await process.execute(
      "INSERT INTO things DOCUMENTS (:thing)", ["thing": .map(["_id": .string(name)])])
  }

  func begin() async throws {
    try await process.ask("discover")
    try await process.ask("start")
  }

  func wait(forDocuments count: Int) async throws {
    while try await process.ask("counts").fields("collections").number("things") < count {
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  func stop() { process.stop() }
}
