// On Linux `stat` may come from there.
import CRDTCore
import CoreFoundation
import DunlinControl
import DunlinKit
import Facade
import Foundation
import Links
import TestKit
import Testing

/// The socket itself: where it lies, who may use it, and what it takes.
@Suite(.timeLimit(.minutes(15))) struct ControlSocketTests {
  private let peer: Peer

  init() throws { peer = try Peer() }

  private var path: String { peer.directory.file("db/control.sock") }

  private var mode: mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode : nil
  }

  @Test func `it is there when it is asked for, for its owner alone, until the database closes`() async throws
  {
    #expect(mode == nil)
    #expect(try peer.dunlin.openControlSocket() == path)
    #expect(try peer.dunlin.openControlSocket() == path)
    #expect(mode.map { $0 & S_IFMT } == S_IFSOCK)
    #expect(mode.map { $0 & 0o777 } == 0o600)
    let client = try await ControlClient(path, isGreeted: false)
    let greeting = try #require(await client.next())
    #expect(greeting.integer("protocol") == 1 && greeting.string("dunlin") == Dunlin.version)
    peer.dunlin.closeControlSocket()
    #expect(mode == nil)
    #expect(await client.next() == nil)
    try peer.dunlin.openControlSocket()
    #expect(mode != nil)
    try peer.dunlin.close()
    #expect(mode == nil)
    #expect(throws: DunlinError.self) { try peer.dunlin.openControlSocket() }
  }

  @Test func `the socket of a process that died is replaced`() async throws {
    try peer.dunlin.openControlSocket()
    // What a killed process leaves behind.
    let kept = peer.directory.file("kept")
    try FileManager.default.linkItem(atPath: path, toPath: kept)
    peer.dunlin.closeControlSocket()
    try FileManager.default.moveItem(atPath: kept, toPath: path)
    await #expect(throws: ControlClient.NobodyListens.self) { _ = try await ControlClient(path) }
    try peer.dunlin.openControlSocket()
    let client = try await ControlClient(path)
    #expect(await client.ask(#"{"id":1,"do":"statistics"}"#).result?.integer("documents") == 0)
  }

  @Test func `a symbolic link and a file in its place are refused, and stay`() async throws {
    let elsewhere = peer.directory.file("elsewhere")
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: elsewhere)
    let link = #expect(throws: DunlinError.self) { try peer.dunlin.openControlSocket() }
    #expect(link?.code == .permission && link?.message.contains("symbolic link") == true)
    await #expect(throws: LinkError.self) { _ = try await ControlClient(path) }
    #expect(mode.map { $0 & S_IFMT } == S_IFLNK)
    try FileManager.default.removeItem(atPath: path)
    try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
    let file = #expect(throws: DunlinError.self) { try peer.dunlin.openControlSocket() }
    #expect(file?.code == .exists)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
  }

  @Test func `what was put in its place meanwhile stays when it closes`() throws {
    try peer.dunlin.openControlSocket()
    try FileManager.default.removeItem(atPath: path)
    try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
    try peer.dunlin.close()
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
  }

  /// On exFAT, and on many file systems of networks.
  @Test func `where no socket can stand in the directory it stands in the user's own, and is found there`()
    async throws
  {
    var configuration = DunlinConfiguration()
    configuration.refusesLocalSockets = true
    let directory = peer.directory.file("placeless")
    let dunlin = try Dunlin(
      path: directory, identity: .unsafeDevelopment(appID: "tests"), configuration: configuration)
    let path = try dunlin.openControlSocket()
    #expect(!path.hasPrefix(directory))
    #expect(try dunlin.openControlSocket() == path)
    // By whatever name the directory is known.
    let link = peer.directory.file("link")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: directory)
    let substitutes = [directory, link].map { ControlProtocol.socket(in: $0).substitute?.path }
    #expect(substitutes == [path, path])
    #expect(ControlProtocol.socket(in: peer.directory.file("db")).substitute?.path != path)
    let client = try await ControlClient(path)
    #expect(await client.ask(#"{"id":1,"do":"clock"}"#).result?.integer("leadSeconds") == 0)
    try dunlin.close()
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  #if os(Linux)
    @Test func `a path that is too long for an address is reached all the same`() async throws {
      let directory = peer.directory.file(String(repeating: "long", count: 50))
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      let dunlin = try Dunlin(path: directory + "/db", identity: .unsafeDevelopment(appID: "tests"))
      let path = try dunlin.openControlSocket()
      #expect(path.utf8.count > LocalSocket.pathBytes)
      let client = try await ControlClient(path)
      #expect(await client.ask(#"{"id":1,"do":"statistics"}"#).result != nil)
      try dunlin.close()
      #expect(!FileManager.default.fileExists(atPath: path))
    }
  #endif

  @Test(
    arguments: [(1_000, 1_000, true), (1_000, 1_001, false), (0, 1_000, true), (1_000, 0, false)]
      as [(UInt32, UInt32, Bool)])
  func `only the same user and the system's own are let in`(_ other: UInt32, _ own: UInt32, _ may: Bool) {
    #expect(PeerUser(id: other).isTrusted(by: own) == may)
    #expect(PeerUser(id: geteuid()).isTrusted())
  }

  @Test func `the system says whose process is at the other end`() async throws {
    var ends: [Int32] = [0, 0]
    #if canImport(Glibc)
      try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    #else
      try #require(socketpair(AF_UNIX, SOCK_STREAM, 0, &ends) == 0)
    #endif
    defer { for end in ends { close(end) } }
    #expect(PeerUser.of(ends[0])?.id == geteuid())
    #expect(PeerUser.of(-1) == nil)
  }

  @Test func `copies of the database do not have the socket`() async throws {
    try peer.dunlin.openControlSocket()
    try await peer.store["notes"].upsert(["_id": "n"])
    let copy = peer.directory.file("copy")
    try await peer.store.backup(to: copy)
    try await peer.store.compact()
    #expect(mode.map { $0 & S_IFMT } == S_IFSOCK)
    #expect(!(try FileManager.default.contentsOfDirectory(atPath: copy)).contains("control.sock"))
    let client = try await ControlClient(path)
    #expect(await client.ask(#"{"id":1,"do":"statistics"}"#).result?.integer("documents") == 1)
  }

  // MARK: - Bad input

  @Test(
    arguments: [
      ("garbage", "syntax"), ("[1,2]", "syntax"), ("{}", "argument"),
      (#"{"id":"x","do":"query"}"#, "argument"),
      (#"{"id":1}"#, "argument"), (#"{"id":1,"do":"dance"}"#, "argument"), ("\u{0}\u{1}", "syntax"),
      (#"{"id":1,"do":"query"}"#, "argument"), (#"{"id":1,"do":"query","query":"SELECT FROM"}"#, "syntax"),
      (#"{"id":1,"documents":[{}]}"#, "argument"), (#"{"id":1,"do":"backup","target":"here"}"#, "argument"),
      (#"{"id":1,"do":"insert","collection":"c","strategy":"no","documents":[{}]}"#, "argument"),
      (#"{"id":1,"do":"watch","query":"SHOW ALL"}"#, "unsupported"),
      (#"{"id":1,"do":"status","application":"shop"}"#, "argument"),
    ])
  func `what makes no sense is answered with an error, and the connection goes on`(
    _ line: String, _ code: String
  ) async throws {
    try peer.dunlin.openControlSocket()
    let client = try await ControlClient(path)
    let answer = await client.ask(line)
    #expect(answer.error?.code.rawValue == code, "\(answer)")
    #expect(answer.error?.message.isEmpty == false)
    #expect(await client.ask(#"{"id":7,"do":"statistics"}"#).result != nil)
  }

  /// Every field of every request, with a value of another type.
  @Test(
    arguments: [
      (#"{"cancel":"1"}"#, "cancel"), (#"{"id":"1","do":"status"}"#, "id"),
      (#"{"id":1.5,"do":"status"}"#, "id"), (#"{"id":1,"do":7}"#, "do"),
      (#"{"id":1,"do":"status","application":7}"#, "application"),
      (#"{"id":1,"do":"query","query":7}"#, "query"),
      (#"{"id":1,"do":"query","query":"SELECT 1","arguments":[1]}"#, "arguments"),
      (#"{"id":1,"do":"watch","query":["SELECT 1"]}"#, "query"),
      (#"{"id":1,"do":"watch","query":"SELECT 1","arguments":"a"}"#, "arguments"),
      (#"{"id":1,"do":"watch","query":"SELECT 1","limit":"10"}"#, "limit"),
      (#"{"id":1,"do":"watch","query":"SELECT 1","limit":-1}"#, "limit"),
      (#"{"id":1,"do":"insert","collection":1,"documents":[{}]}"#, "collection"),
      (#"{"id":1,"do":"insert","collection":"c","strategy":1,"documents":[{}]}"#, "strategy"),
      (#"{"id":1,"do":"insert","collection":"c","documents":{}}"#, "documents"),
      (#"{"id":1,"do":"insert","collection":"c","documents":[{}],"more":1}"#, "more"),
      (#"{"id":1,"documents":{}}"#, "documents"), (#"{"id":1,"documents":[],"more":"yes"}"#, "more"),
      (#"{"id":1,"do":"evict","collection":"c","document":7}"#, "document"),
      (#"{"id":1,"do":"evict","collection":null,"document":"d"}"#, "collection"),
      (#"{"id":1,"do":"erase","collection":"c"}"#, "ids"),
      (#"{"id":1,"do":"erase","collection":"c","ids":[]}"#, "ids"),
      (#"{"id":1,"do":"erase","collection":"c","ids":["a",7]}"#, "ids"),
      (#"{"id":1,"do":"erase","collection":7,"ids":["a"]}"#, "collection"),
      (#"{"id":1,"do":"schema","collection":7}"#, "collection"),
      (#"{"id":1,"do":"schema","documents":"all"}"#, "documents"),
      (#"{"id":1,"do":"schema","documents":-1}"#, "documents"),
      (#"{"id":1,"do":"inspect","collection":["c"]}"#, "collection"),
      (#"{"id":1,"do":"inspect","collection":"c","document":7}"#, "document"),
      (#"{"id":1,"do":"backup","target":7}"#, "target"),
      (#"{"id":1,"do":"why","collection":"c","document":7,"peer":"p"}"#, "document"),
      (#"{"id":1,"do":"ask","query":"SELECT 1"}"#, "peer"),
      (#"{"id":1,"do":"ask","peer":"p"}"#, "query"),
      (#"{"id":1,"do":"why","collection":"c","document":"d","peer":7}"#, "peer"),
      (#"{"id":1,"do":"why","collection":"c","document":"d","peer":"p","isIncoming":"yes"}"#, "isIncoming"),
    ])
  func `a field of the wrong type is refused by its name`(_ line: String, _ field: String) async throws {
    try peer.dunlin.openControlSocket()
    let client = try await ControlClient(path)
    let error = try #require(await client.ask(line).error)
    #expect(error.code == .argument && error.message.contains("\"\(field)\""), "\(error)")
    #expect(await client.ask(#"{"id":7,"do":"statistics"}"#).result != nil)
  }

  @Test func `a line that is wrong ends the request whose documents come`() async throws {
    try peer.dunlin.openControlSocket()
    let client = try await ControlClient(path)
    client.send(#"{"id":1,"do":"insert","collection":"c","documents":[{"_id":1}],"more":true}"#)
    #expect(await client.ask(#"{"id":1,"documents":{"_id":2}}"#).error?.code == .argument)
    #expect(await client.ask(#"{"id":1,"documents":[{"_id":2}]}"#).error?.code == .argument)
    #expect(try peer.store.statistics().documentCount == 0)
  }

  @Test func `a line that is too long ends the connection, and no other`() async throws {
    try peer.dunlin.openControlSocket()
    let (rude, polite) = (try await ControlClient(path), try await ControlClient(path))
    rude.send([UInt8](repeating: UInt8(ascii: "x"), count: ControlProtocol.lineBytes + 2))
    #expect(await rude.answer().error?.code == .limit)
    #expect(await rude.next() == nil)
    #expect(await polite.ask(#"{"id":1,"do":"statistics"}"#).result != nil)
  }

  @Test func `who asks for nothing, or takes nothing, is disconnected, and who waits is not`() async throws {
    // Long enough for a machine that has much else to do to hear of a request.
    let patient = try Peer(controlIdleTime: .seconds(5))
    let path = try patient.dunlin.openControlSocket()
    try fill(patient, 20_000)
    let watching = try await ControlClient(path)
    watching.send(#"{"id":1,"do":"watch","query":"SELECT * FROM notes"}"#)
    while try #require(await watching.next())["state"] == nil {}
    let stalled = try await ControlClient(path)
    stalled.send(#"{"id":1,"do":"query","query":"SELECT * FROM things"}"#)
    let idle = try await ControlClient(path)
    #expect(await idle.next() == nil)
    // What was sent before it stopped to take anything is still there.
    while try patient.store.statistics().readerCount > 1 { await pause() }
    let rest = await stalled.answer()
    #expect(rest.result == nil && rest.rows.count < 20_000)
    try await patient.store["notes"].upsert(["_id": 1])
    while try #require(await watching.next())["state"] == nil {}
    try patient.dunlin.close()
  }

  private func fill(_ peer: Peer, _ count: Int) throws {
    let text = String(repeating: "x", count: 400)
    try peer.store.write { transaction in
      let things = transaction.scoped(toCollectionNamed: "things")
      for number in 0..<count { try things.upsert(["_id": number, "text": text]) }
    }
  }

  @Test func `a client has a bounded number of requests, and there is a bounded number of clients`()
    async throws
  {
    try peer.dunlin.openControlSocket()
    var clients = [try await ControlClient(path)]
    for id in 1...ControlProtocol.requests {
      clients[0].send(#"{"id":\#(id),"do":"watch","query":"SELECT * FROM notes"}"#)
    }
    var states = 0
    while states < ControlProtocol.requests {
      if try #require(await clients[0].next())["state"] != nil { states += 1 }
    }
    #expect(await clients[0].ask(#"{"id":99,"do":"statistics"}"#).error?.code == .limit)
    clients[0].send(#"{"cancel":1}"#)
    #expect(await clients[0].answer().error?.code == .cancelled)
    #expect(await clients[0].ask(#"{"id":1,"do":"statistics"}"#).result != nil)
    while clients.count < ControlProtocol.clients { clients.append(try await ControlClient(path)) }
    let refused = try await ControlClient(path, isGreeted: false)
    #expect(await refused.answer().error?.code == .limit)
    #expect(await refused.next() == nil)
    clients.removeLast().vanish()
    // The place is free soon.
    while true {
      let next = try await ControlClient(path, isGreeted: false)
      if try #require(await next.next())["protocol"] != nil { break }
      await pause()
    }
  }
}
