import CRDTCore
import DunlinControl
import DunlinKit
import Facade
import Foundation
import PeerControl
import TestKit
import Testing

@testable import dunlin

/// Commands on a store that another process has open.
@Suite(.timeLimit(.minutes(15))) struct RunningPeerTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  /// Runs a command that asks this process, on a thread of its own.
  ///
  /// Tasks share a few threads, and this process needs them to answer.
  private func run(_ arguments: [String]) async throws -> Tool.Outcome {
    let folder = directory.path
    return try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try Tool.run(arguments, in: folder) }) }
    }
  }

  @Test func `a peer is found whose store's file system has no sockets`() async throws {
    var configuration = DunlinConfiguration()
    configuration.refusesLocalSockets = true
    let store = directory.file("placeless")
    let dunlin = try Dunlin(
      path: store, identity: .unsafeDevelopment(appID: "tests"), configuration: configuration)
    try dunlin.openControlSocket()
    let open = try await run(["stats", store, "--json"])
    #expect(open.status == 0, "\(open.errors)")
    #expect(open.output.contains("\"documents\":0"))
    try dunlin.close()
    let closed = try await run(["stats", store, "--json"])
    #expect(closed.output == open.output)
  }

  @Test func `a clock that was ahead is shown and put right, whether the store is open elsewhere or not`()
    async throws
  {
    for isServed in [false, true] {
      let store = directory.file("ahead \(isServed)")
      var configuration = DunlinConfiguration()
      configuration.clock = { Date() + 86_400 }
      let ahead = try Dunlin(
        path: store, identity: .unsafeDevelopment(appID: "tests"), configuration: configuration)
      try await ahead.store.write { tx in _ = try tx["cars"].upsert(["_id": "a"]) }
      let site = try ahead.store.statistics().id
      try ahead.close()
      let served = isServed ? try Dunlin(path: store, identity: .unsafeDevelopment(appID: "tests")) : nil
      try served?.openControlSocket()
      let shown = try await run(["clock", store])
      expect(shown.status == 0 && shown.output.contains(" s ahead of the wall clock"), "\(shown)")
      let stats = try await run(["stats", store])
      expect(stats.output.contains("'dunlin clock' says more"), "\(stats)")
      if isServed {
        let status = try await run(["status", store])
        expect(status.output.contains("ahead of the wall clock"), "\(status)")
      }
      let trusted = try await run(["clock", store, "--trust", "--json"])
      expect(trusted.output.contains("\"beganAnew\":true"), "\(trusted)")
      let after = try await run(["clock", store])
      expectEqual(after.output, "the store's clock is right by the wall clock\n")
      let now = try await run(["stats", store, "--json"])
      expect(!now.output.contains(site), "\(now)")
      try served?.close()
    }
  }

  /// What a command prints, but for how long it took.
  private func same(_ outcome: Tool.Outcome) -> [String] {
    [
      "\(outcome.status)", outcome.output,
      outcome.errors.replacing(/, [0-9.]+ (ns|µs|ms|s)\n/, with: ", some time\n"),
    ]
  }

  @Test func `commands print the same, whether the store is open elsewhere or not`() async throws {
    let served = try await ServedStore(directory, documents: 500)
    let commands = [
      ["query", served.store, "SELECT n, COUNT(*) AS c FROM things GROUP BY n ORDER BY n"],
      ["query", served.store, "SELECT * FROM things WHERE _id < 3", "--table"],
      ["query", served.store, "SELECT * FROM things WHERE _id < :m", "--arg", "m=2", "--json"],
      ["query", served.store, "SELECT * FROM thinks"],
      ["query", served.store, "SELECT * FROM things WHERE m = 1"],
      ["query", served.store, "SELECT FROM"],
      ["query", served.store, "SELECT * FROM things WHERE n = :missing"],
      ["query", served.store, "EXPLAIN SELECT * FROM things WHERE n = 1"],
      ["inspect", served.store], ["inspect", served.store, "things"],
      ["inspect", served.store, "things", "7"],
      ["inspect", served.store, "things", "nobody"], ["verify", served.store],
      ["inspect", served.store, "thinks"],
      ["evict", served.store, "things", "nobody"],
      ["evict", served.store, "things", "hex:zz"],
    ]
    let open = try commands.map { same(try Tool.run($0, in: directory.path)) }
    let script = "SELECT _id FROM things WHERE _id < 2;\n.tables\n.schema things\n.schema no\nSELECT oops"
    let openScript = try served.run("query", served.store, input: script)
    await served.stop()
    #expect(!FileManager.default.fileExists(atPath: served.socket))
    for (command, expected) in zip(commands, open) {
      expectEqual(same(try Tool.run(command, in: directory.path)), expected, "\(command)")
    }
    #expect(same(openScript) == same(try served.run("query", served.store, input: script)))
    #expect(open[0][1].split(separator: "\n").count == 7)
    #expect(open[14][0] == "1" && open[14][2].contains("no document nobody"))
  }

  @Test func `the socket is for its owner alone, and what changes it is seen by all`() async throws {
    let served = try await ServedStore(directory, documents: 20)
    let mode = try FileManager.default.attributesOfItem(atPath: served.socket)[.posixPermissions]
    #expect((mode as? NSNumber)?.intValue == 0o600)
    let updated = try served.run("query", served.store, "UPDATE things SET n = 99 WHERE _id = 3")
    #expect(updated.status == 0 && updated.errors.contains("1 document changed"))
    #expect(try served.run("evict", served.store, "things", "4").output.contains("is evicted"))
    #expect(try served.run("stats", served.store).output.contains("documents   19"))
    #expect(try served.run("stats", served.store, "--json").output.contains(#""documents":19"#))
    let copy = directory.file("copy")
    let copied = try served.run("backup", served.store, copy)
    #expect(copied.status == 0 && copied.output.contains("19 documents"), "\(copied.errors)")
    #expect(!(try FileManager.default.contentsOfDirectory(atPath: copy)).contains("control.sock"))
    #expect(try served.run("query", copy, "SELECT n FROM things WHERE _id = 3").output == "{\"n\":99}\n")
    let added = try served.run("backup", "--series", served.store, directory.file("series"))
    #expect(added.status == 0 && added.output.contains("point 1, base"), "\(added)")
    let exists = try served.run("backup", served.store, copy)
    #expect(exists.status == 1 && exists.errors.contains("something at the path"))
  }

  @Test func `documents go in by batches, whole or not at all`() async throws {
    let served = try await ServedStore(directory)
    let peer = try #require(try RunningPeer.of(store: served.store))
    let large = String(repeating: "x", count: 300_000)
    let batch = (0..<20).map { number -> [TextKey: Value] in
      ["_id": .int(Int64(number)), "n": .counter(2), "text": .string(large)]
    }
    let inserted = try await peer.insert(batch, into: "things")
    #expect(inserted.documents == 20 && inserted.commit > 0)
    let bad = await #expect(throws: ControlError.self) {
      try await peer.insert([["_id": .int(21)], ["_id": .null], ["_id": .int(22)]], into: "things")
    }
    #expect(bad?.document == 1)
    #expect(try await peer.insert([], into: "things").documents == 0)
    let tooMuch = await #expect(throws: ControlError.self) {
      try await peer.insert(
        (0..<300).map { ["_id": .int(Int64($0)), "text": .string(large)] }, into: "things")
    }
    #expect(tooMuch?.code == .limit)
    let exact = try served.run("query", served.store, "SELECT COUNT(*) AS c, SUM(n) AS s FROM things")
    #expect(exact.output == "{\"c\":20,\"s\":40}\n", "\(exact.errors)")
    let absent = try await peer.insert(
      [["_id": .int(1), "n": .int(5)]], into: "things", strategy: .insertIfAbsent)
    #expect(absent.documents == 1 && absent.commit == 0)
  }

  @Test func `a peer tells how it stands and who is there`() async throws {
    let served = try await ServedStore(directory, documents: 30)
    let port = try #require(served.port)
    let dunlin = try Dunlin(
      path: directory.file("other"), identity: .unsafeDevelopment(appID: "tests"),
      configuration: DunlinConfiguration(peerName: "tablet"))
    dunlin.connect(host: "127.0.0.1", port: port)
    let subscription = try dunlin.sync.registerSubscription(query: "SELECT * FROM things WHERE n = 1")
    try dunlin.startSync()
    try await served.wait(for: "connected to tablet (small) over tcp://127.0.0.1")
    try await dunlin.sync.waitUntilHere(subscription)
    let status = try served.run("status", served.store)
    #expect(status.status == 0, "\(status.errors)")
    for words in [
      "depot (small), up for", "development in tests", "127.0.0.1:\(port)", "tablet", "subscriptions  none",
    ] {
      expect(status.output.contains(words), "\(words): \(status.output)")
    }
    #expect(try served.run("status", served.store, "--json").output.contains(#""name":"depot""#))
    let top = try served.run("top", served.store, "--once", "--interval", "0.2")
    #expect(
      top.status == 0 && top.output.contains("tablet") && top.output.contains("30 documents (0/s)"), "\(top)")
    let peers = try served.run("peers", served.store)
    #expect(peers.status == 0 && peers.output.contains("tablet") && peers.output.contains("tcp"))
    #expect(try served.run("peers", served.store, "--json").output.contains(#""name":"tablet""#))
    while try served.run("why", served.store, "things", "1", "--at", "tablet").status != 0 { await pause() }
    let why = try served.run("why", served.store, "things", "1", "--at", "tablet")
    #expect(why.output.contains("tablet has the document of 'things'"))
    let not = try served.run("why", served.store, "things", "2", "--at", "tablet")
    #expect(not.status == 2 && not.output.contains("subscribes to others"), "\(not)")
    #expect(try served.run("why", served.store, "things", "2", "--from", "tablet").status == 0)
    let unknown = try served.run("why", served.store, "things", "2", "--at", "nobody")
    #expect(unknown.status == 1 && unknown.errors.contains("no peer 'nobody' is there; there are tablet"))
    #expect(try served.run("why", served.store, "things", "2").status == 64)
    try dunlin.close()
    try await served.wait(for: "lost tablet (small) over tcp://127.0.0.1")
  }

  @Test func `a connected peer runs a query on its own data, if it allows that`() async throws {
    let shop = try await ServedStore(
      try TemporaryDirectory(), documents: 5, more: ["--name", "shop", "--answer-queries"])
    let served = try await ServedStore(
      directory, more: ["--connect", "127.0.0.1:\(try #require(shop.port))"])
    try await served.wait(for: "connected to shop")
    func ask(_ statement: String, _ more: String...) throws -> Tool.Outcome {
      try Tool.run(["query", served.store, statement, "--at", "shop"] + more, in: directory.path)
    }
    // The connection is told of before the peer is in the list of those present.
    while try ask("SELECT _id FROM things").errors.contains("no peer 'shop' is there") { await pause() }
    let rows = try ask("SELECT n, _id FROM things WHERE _id < :n ORDER BY _id", "--arg", "n=2")
    #expect(rows.status == 0 && rows.output == "{\"n\":0,\"_id\":0}\n{\"n\":1,\"_id\":1}\n", "\(rows)")
    #expect(rows.errors.hasPrefix("2 rows"), "\(rows.errors)")
    // The collections of another peer are not known here, so nothing is said of them.
    let nothing = try ask("SELECT * FROM nothing")
    #expect(nothing.status == 0 && !nothing.errors.contains("there is no collection"), "\(nothing)")
    let csv = try ask("SELECT _id FROM things WHERE _id = 3", "--csv")
    #expect(csv.output == "_id\r\n3\r\n", "\(csv)")
    let wrong = try ask("SELECT FROM")
    #expect(wrong.status == 1 && wrong.errors.contains("expected an expression"), "\(wrong)")
    let write = try ask("DELETE FROM things")
    #expect(write.status == 1 && !write.errors.isEmpty, "\(write)")
    let denied = try shop.run("query", shop.store, "SELECT * FROM things", "--at", "depot")
    #expect(denied.status == 1 && denied.errors.contains("runs no statements for others"), "\(denied)")
    let nobody = try Tool.run(
      ["query", served.store, "SELECT * FROM things", "--at", "nobody"], in: directory.path)
    #expect(nobody.status == 1 && nobody.errors.contains("no peer 'nobody' is there; there are shop"))
    let closed = directory.file("closed")
    _ = try Tool.run(["import", closed, "c", "-"], in: directory.path, input: "{}\n")
    let alone = try Tool.run(["query", closed, "SELECT * FROM c", "--at", "shop"], in: directory.path)
    #expect(alone.status == 1 && alone.errors.contains("no peer answers for this store"), "\(alone)")
  }

  @Test func `each listener is told with its scheme, and a peer without any way to others says so`()
    async throws
  {
    let served = try await ServedStore(directory, more: ["--listen-websocket", "127.0.0.1:0"])
    try await served.wait(for: ": ws://127.0.0.1:")
    #expect(
      served.printed.contains(/listening on port (\d+): tcp:\/\/127\.0\.0\.1:\1\n/), "\(served.printed)")
    #expect(served.printed.contains(/listening on port (\d+): ws:\/\/127\.0\.0\.1:\1\n/), "\(served.printed)")
    #expect(!served.printed.contains("meeting nobody"))
    let process = Tool.process(["serve", directory.file("lonely"), "--app", "tests"])
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    defer { process.end() }
    let said = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    #expect(said.hasPrefix("meeting nobody: it neither listens nor connects; see --listen,"), "\(said)")
  }

  @Test func `a port in use is one line`() async throws {
    let served = try await ServedStore(directory)
    let address = "127.0.0.1:\(try #require(served.port))"
    let refused = try Tool.run(
      ["serve", directory.file("other"), "--app", "tests", "--listen", address], in: directory.path)
    let lines = refused.errors.split(separator: "\n").filter { !$0.contains("unsafe development identity") }
    #expect(refused.status == 1 && lines == ["Error: Cannot listen on \(address): Address already in use"])
  }

  @Test func `what is about a running peer says that none runs`() throws {
    for command in [["status"], ["top", "--once"], ["peers"]] {
      var arguments = command
      arguments.insert(directory.file("nothing"), at: 1)
      let outcome = try Tool.run(arguments, in: directory.path)
      expect(outcome.status == 1 && outcome.errors.contains("there is no store"), "\(outcome)")
    }
    let store = directory.file("store")
    _ = try Tool.run(["import", store, "c", "-"], in: directory.path, input: "{}\n")
    let outcome = try Tool.run(["status", store], in: directory.path)
    #expect(outcome.status == 1 && outcome.errors.contains("no peer answers"))
  }

  @Test func `the socket of a peer that was killed hinders nobody`() async throws {
    let served = try await ServedStore(directory, documents: 5)
    served.process.end()
    #expect(FileManager.default.fileExists(atPath: served.socket))
    #expect(
      try served.run("query", served.store, "SELECT _id FROM things WHERE _id = 1").output == "{\"_id\":1}\n")
    #expect(try served.run("verify", served.store).status == 0)
    let again = try await ServedStore(directory)
    #expect(try again.run("status", again.store).output.contains("5"))
  }

  @Test func `a peer that ends during a statement is told of`() async throws {
    let served = try await ServedStore(directory, documents: 20_000, bytes: 500)
    let asker = Tool.process(["query", served.store, "SELECT * FROM things", "--json"])
    let (output, errors) = (Pipe(), Pipe())
    (asker.standardOutput, asker.standardError) = (output, errors)
    try asker.run()
    defer { asker.end() }
    // More than that is not read before the peer has ended.
    #expect(!(try #require(try output.fileHandleForReading.read(upToCount: 100))).isEmpty)
    kill(served.process.processIdentifier, SIGKILL)
    while served.process.isRunning { await pause() }
    let rest = try #require(try output.fileHandleForReading.readToEnd())
    #expect(rest.count < 11_000_000)
    let words = String(decoding: try #require(try errors.fileHandleForReading.readToEnd()), as: UTF8.self)
    asker.waitUntilExit()
    #expect(asker.terminationStatus == 1 && words.contains("has ended the connection"), "\(words)")
  }

  @Test func `a served peer tells how it fills, and keeps parameters when it is asked to`() async throws {
    let source = try await ServedStore(try TemporaryDirectory(), documents: 3_000)
    let port = try #require(source.port)
    let more = ["--connect", "127.0.0.1:\(port)", "--subscribe", "things", "--keep-parameters"]
    let served = try await ServedStore(directory, more: more)
    try await served.wait(for: "all that the peers had is here")
    // The rate goes by the time since the connections were looked at before, which is half a second.
    let told = served.printed.firstMatch(of: /Filling  3,000 documents  ([0-9,]+)\/s/)
    let rate = try #require(told.flatMap { Int($0.1.filter { $0 != "," }) }, "\(served.printed)")
    #expect(rate <= 6_000)
    #expect(try served.run("status", served.store).output.contains("SELECT * FROM `things`"))
    let set = "ALTER SYSTEM SET DQL_STRICT_TYPES = true"
    let changed = try served.run("query", served.store, set)
    #expect(changed.status == 0, "\(changed.errors)")
    await served.stop()
    #expect(FileManager.default.fileExists(atPath: served.store + "/parameters"))
  }

  @Test func `what cannot be done beside a running peer says what can`() async throws {
    let served = try await ServedStore(directory, documents: 5)
    let target = directory.file("target")
    for command in [["compact"], ["export", "things", target], ["rescue", target]] {
      let arguments = [command[0], served.store] + command.dropFirst()
      let outcome = try Tool.run(arguments, in: directory.path)
      expect(outcome.status == 1 && outcome.output.isEmpty, "\(outcome)")
      expect(outcome.errors.contains("'dunlin backup \(served.store) COPY'"), "\(outcome.errors)")
      expect(!FileManager.default.fileExists(atPath: target))
    }
    let silent = try await ServedStore(try TemporaryDirectory(), documents: 5, more: ["--no-control-socket"])
    let refused = try silent.run("compact", silent.store)
    #expect(refused.status == 1 && refused.errors.contains("end that process first"), "\(refused)")
    #expect(!refused.errors.contains("backup"))
  }

  @Test func `the status says why an address leads to no peer, and lacks no big peer among small ones`()
    async throws
  {
    let served = try await ServedStore(directory, documents: 5)
    let address = "127.0.0.1:\(try #require(served.port))"
    let friend = try await ServedStore(try TemporaryDirectory(), more: ["--connect", address])
    try await friend.wait(for: "connected to depot")
    #expect(try friend.run("status", friend.store).output.contains("conditions     none"))
    let stranger = directory.file("stranger")
    let process = Tool.process(["serve", stranger, "--app", "others", "--connect", address])
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    defer { process.end() }
    while true {
      let status = try Tool.run(["status", stranger], in: directory.path)
      let words = "No session with tcp://\(address): The peer belongs to another application"
      if status.output.contains("conditions     \(words)") { break }
      try #require(process.isRunning)
      await pause()
    }
    let asked = try Tool.run(
      ["peers", "--app", "others", "--connect", address, "--time", "5"], in: directory.path)
    #expect(asked.status == 1 && asked.errors.contains("another application"), "\(asked)")
  }

  @Test func `a peer that is asked to answers no commands`() async throws {
    let served = try await ServedStore(directory, more: ["--no-control-socket"])
    #expect(!FileManager.default.fileExists(atPath: served.socket))
    let refused = try served.run("stats", served.store)
    #expect(refused.status == 1 && refused.errors.contains("open in another process"))
  }
}
