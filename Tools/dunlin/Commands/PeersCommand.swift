import ArgumentParser
import CRDTCore
import DunlinControl
import Facade
import Foundation
import Logging
import PeerControl
import RulesTool

struct PeersCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "peers", abstract: "Show which peers there are, and what they say of themselves.",
    discussion: """
      With a store it asks the peer that has it open, at once. Without, it connects for some seconds as a peer of its own that pulls \
      nothing, then prints who was there. Examples:

        dunlin peers store
        dunlin peers --app com.example.orders --shared-key key.txt --discover
        dunlin peers --app com.example.orders --connect 192.168.1.20:4040 --json
      """)

  @Argument(
    help: ArgumentHelp("The directory of a store that a peer has open.", valueName: "running-store"),
    completion: .directory)
  var running: String?
  @Option(
    help: ArgumentHelp(
      "The store whose key a certificate is for; nobody may have it open. Without, one is made and removed.",
      valueName: "directory"), completion: .directory)
  var store: String?
  @Option(help: "What this peer calls itself meanwhile.")
  var name = "dunlin peers"
  @OptionGroup(title: "Identity")
  var identity: IdentityOptions
  @Option(
    help: ArgumentHelp("A peer to ask: host:port, or ws:// or wss:// and more.", valueName: "address"))
  var connect: [PeerPlace] = []
  @Flag(help: "Look for peers on the local networks.")
  var discover = false
  @Option(help: ArgumentHelp("For how many seconds to look, at most.", valueName: "seconds"))
  var time = 5.0
  @Flag(help: "Print one JSON object for each peer.")
  var json = false

  func validate() throws {
    guard running == nil || (connect.isEmpty && !discover) else {
      throw ValidationError("a running peer knows its peers: --connect and --discover go without a store")
    }
    guard running != nil || !connect.isEmpty || discover else {
      throw ValidationError(
        "say where peers are: a running peer's store, --connect with an address, or --discover")
    }
    guard time > 0, time <= 3_600 else { throw ValidationError("--time is above 0 and at most 3600") }
  }

  func run() async throws {
    if let running {
      return try show(
        StoreAccess.peer(of: running).ask("status").objects("peers"), whereNone: "no peer is there")
    }
    LoggingSystem.bootstrap { _ in StandardErrorLog() }
    let path = try store ?? TemporaryStore.make("dunlin-peers")
    defer { if store == nil { TemporaryStore.remove(path) } }
    let dunlin = try Dunlin(
      path: path, identity: try identity.identity, configuration: .init(peerName: name))
    defer { dunlin.closeQuietly() }
    try dunlin.updateTransportConfig { config in
      config.peerToPeer.lan.isEnabled = discover
      for address in connect {
        switch address {
        case .endpoint(let endpoint): config.connect.tcpServers.insert(endpoint.text)
        case .url(let url): config.connect.webSocketURLs.insert(url)
        }
      }
    }
    try dunlin.startSync()
    let peers = await meet(dunlin)
    try show(peers.map { ReportedPeer($0).values }, whereNone: "no peer was met in \(time) s")
    for condition in dunlin.transportConditions.map(\.description).sorted() where peers.isEmpty {
      Output.note(condition)
    }
    if peers.isEmpty { throw ExitCode(1) }
  }

  /// Every peer that was present in the time, in its last state.
  ///
  /// The wait ends early when all the peers that the command names have reported their details.
  private func meet(_ dunlin: Dunlin) async -> [DunlinPeer] {
    let expected = discover ? Int.max : connect.count
    let looking = Task { () -> [String: DunlinPeer] in
      var met: [String: DunlinPeer] = [:]
      for await graph in dunlin.presence.graphs {
        for peer in graph.remotePeers { met[peer.id] = peer }
        if met.count >= expected, met.values.allSatisfy({ !$0.version.isEmpty }) { break }
      }
      return met
    }
    let alarm = Task {
      try await Task.sleep(for: .seconds(time))
      looking.cancel()
    }
    defer { alarm.cancel() }
    return await looking.value.values.sorted { ($0.deviceName, $0.id) < ($1.deviceName, $1.id) }
  }

  private func show(_ peers: [[TextKey: Value]], whereNone words: String) throws {
    if json {
      for peer in peers { try Output.print(JSON.text(of: .map(peer))) }
    } else {
      try Output.print(peers.isEmpty ? words : Self.table(peers))
    }
  }

  private static func table(_ peers: [[TextKey: Value]]) -> String {
    var table = TextTable(["name", "kind", "system", "version", "user", "over", "address"])
    for peer in peers {
      let connection = peer.objects("connections").first
      let words = ["name", "kind", "system", "version", "user"].map { peer.string(TextKey($0)) ?? "" }
      table.add(
        (words + [connection?.string("kind") ?? "gone", connection?.string("address") ?? ""])
          .map(\.printable))
    }
    return table.text
  }
}

extension Dunlin {
  fileprivate func closeQuietly() {
    do { try close() } catch { Output.note("\(error)") }
  }
}
