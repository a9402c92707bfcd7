import CRDTCore
import Foundation
import PeerControl

/// One peer of a campaign, through all its processes: they end, the directory stays.
final class Member {
  static let shared = ["items", "lefts", "rights", "graves"]
  /// Those of which an observer is told.
  static let observed = ["graves", "lefts"]

  let name: String
  let path: String
  private let program: String
  private(set) var process: ChildPeer?
  /// Where the process listens.
  private(set) var port = 0
  /// Lines from this peer to others, by their names.
  var lines: [String: FaultProxy] = [:]
  /// The secrets on its disk that others wrote: those of the peers that it is a copy of, up to a number each.
  var inherited: [String: Int] = [:]
  /// What it subscribes to of the papers; all of them in the end.
  private(set) var shelf: Int? = 0
  /// What the observers of this process have told, by collection.
  private var observations: [String: ObservedSet] = [:]
  /// Lines of its processes' logs, those of ended ones too.
  private var oldLog: [String] = []

  init(name: String, path: String, program: String) {
    self.name = name
    self.path = path
    self.program = program
  }

  var isRunning: Bool { process != nil }

  var log: [String] { oldLog + (process?.log ?? []) }

  /// Starts a process on the directory, with all subscriptions, listening and dialing.
  func start() async throws {
    let process = try ChildPeer(name: name, path: path, kind: "small", program: program)
    self.process = process
    _ = try await process.execute(
      "ALTER SYSTEM SET USER_COLLECTION_SYNC_SCOPES = :scopes",
      ["scopes": .map(["secrets": .string("LocalPeerOnly")])])
    for query in (Self.shared + ["secrets"]).map({ "SELECT * FROM \($0)" }) + [papers] {
      try await process.ask("subscribe", ["query": .string(query)])
    }
    observations = [:]
    for collection in Self.observed {
      observations[collection] = ObservedSet()
      try await process.ask(
        "observe",
        ["name": .string(collection), "collection": .string(collection), "query": .string("true")])
    }
    try await process.ask("listen")
    guard case .array(let ports)? = try await process.ask("start")["ports"],
      case .int(let port)? = ports.first
    else { throw PeerError("\(name) listens on no port") }
    self.port = Int(port)
    for line in lines.values { try await process.ask("connect", ["port": .int(Int64(line.port))]) }
  }

  /// The subscription to papers.
  private var papers: String {
    "SELECT * FROM papers" + (shelf.map { " WHERE shelf = \($0)" } ?? "")
  }

  /// Subscribes to the papers of another shelf, or to all, in place of those of before.
  func turn(to shelf: Int?) async throws {
    let former = papers
    self.shelf = shelf
    guard let process else { return }
    do {
      try await process.ask("subscribe", ["query": .string(papers)])
      if former != papers { try await process.ask("unsubscribe", ["query": .string(former)]) }
    } catch let error as PeerError where error.isEnd {
      // The next process has the new one alone.
    }
  }

  /// What is wrong with what the observers of this process were told; empty when nothing is.
  ///
  /// Called when nothing changes any more, and again until the last events are here.
  func observerFaults() async throws -> [String] {
    guard let process else { return [] }
    for event in process.takeEvents("diff") { observations[event.text("name")]?.take(event) }
    var faults: [String] = []
    for (collection, observed) in observations.sorted(by: { $0.key < $1.key }) {
      faults += observed.faults
      let ids = Set(try await execute("SELECT _id FROM \(collection)")?.map { $0.text("_id") } ?? [])
      if !observed.leads(to: ids) {
        faults.append("the diffs of \(collection) do not add up to its \(ids.count) documents")
      }
    }
    return faults
  }

  /// Diffs that the observers of this process were told.
  var diffs: Int { observations.values.reduce(0) { $0 + $1.diffs } }

  func dial(_ line: FaultProxy, to other: String) async throws {
    lines[other] = line
    try await process?.ask("connect", ["port": .int(Int64(line.port))])
  }

  /// Dials anew, so that nobody waits for a retry that is far off.
  func redial() async throws {
    for line in lines.values {
      try await process?.ask("disconnect", ["port": .int(Int64(line.port))])
      try await process?.ask("connect", ["port": .int(Int64(line.port))])
    }
  }

  /// Ends the process as a crash would.
  func kill() {
    guard let process else { return }
    process.kill()
    oldLog += process.log
    self.process = nil
  }

  func stop() {
    process?.stop()
    process = nil
  }

  /// Runs a statement; `nil` where the process ended before it answered.
  func execute(_ query: String, _ arguments: [TextKey: Value] = [:]) async throws -> [[TextKey: Value]]? {
    guard let process else { return nil }
    do {
      return try await process.execute(query, arguments)
    } catch let error as PeerError where error.isEnd {
      return nil
    }
  }

  /// Runs statements as one transaction.
  ///
  /// - Returns: Whether they were acknowledged.
  func transaction(_ statements: [(query: String, arguments: [TextKey: Value])]) async throws -> Bool {
    guard let process else { return false }
    let list = statements.map { Value.map(["query": .string($0.query), "arguments": .map($0.arguments)]) }
    do {
      try await process.ask("transaction", ["statements": .array(list)])
      return true
    } catch let error as PeerError where error.isEnd {
      return false
    }
  }

  /// The digests of all shared collections; `nil` where no process runs.
  func digests() async throws -> [String: String]? {
    guard let process else { return nil }
    let collections = try await process.ask("figures").fields("collections")
    var digests: [String: String] = [:]
    for name in Self.shared {
      if case .map(let figures)? = collections[name] {
        digests[name] = "\(figures.text("digest")) of \(figures.number("documents"))"
      }
    }
    return digests
  }
}
