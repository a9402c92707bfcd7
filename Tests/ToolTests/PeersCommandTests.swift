import DunlinKit
import Foundation
import TestKit
import Testing

@Suite(.timeLimit(.minutes(15))) struct PeersCommandTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func run(_ arguments: String...) throws -> Tool.Outcome {
    let own = directory.file("temporary")
    try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
    defer { #expect((try? FileManager.default.contentsOfDirectory(atPath: own)) == []) }
    return try Tool.run(
      ["peers", "--app", "tests"] + arguments, in: directory.path, environment: ["TMPDIR": own])
  }

  @Test func `a peer is shown with what it says of itself, as a table and as JSON`() throws {
    let dunlin = try Dunlin(
      path: directory.file("served"), identity: .unsafeDevelopment(appID: "tests"),
      configuration: DunlinConfiguration(peerKind: .big, peerName: "galley"))
    defer { try? dunlin.close() }
    try dunlin.presence.setPeerMetadata(["row": 12])
    try dunlin.listen()
    try dunlin.startSync()
    let address = "127.0.0.1:\(try #require(dunlin.listeningPorts.first))"
    let table = try run("--connect", address, "--time", "120")
    #expect(table.status == 0, "\(table.errors)")
    #expect(table.output.contains("galley") && table.output.contains("big"))
    #expect(table.output.contains("tcp://\(address)"))
    let json = try run("--connect", address, "--time", "120", "--json")
    #expect(json.status == 0, "\(json.errors)")
    #expect(json.output.contains(#""name":"galley""#) && json.output.contains(#""metadata":{"row":12}"#))
    #expect(json.output.contains(#""reachesBigPeer":true"#))
    #expect(json.output.contains(#""identityMetadata":{}"#))
  }

  @Test func `where nobody is that is said, and the status tells it`() throws {
    let nobody = try run("--connect", "127.0.0.1:1", "--time", "0.5")
    #expect(nobody.status == 1 && nobody.output.contains("no peer was met"))
    #expect(nobody.errors.contains("\nCannot connect to 127.0.0.1:1: "))
  }

  @Test func `what makes no sense is refused`() throws {
    #expect(try run().errors.contains("--connect"))
    #expect(try run("--connect", "127.0.0.1:1", "--time", "0").errors.contains("--time"))
    let wrong = try run("--connect", "nowhere", "--time", "1")
    #expect(wrong.status != 0 && wrong.errors.contains("nowhere"))
  }
}
