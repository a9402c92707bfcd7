import ArgumentParser
import CRDTCore
import Facade
import Foundation
import Links
import Logging
import PeerControl
import SyncProtocol
import Transports

struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "Run a peer: it listens, connects, and pulls what it subscribes to.",
    discussion: """
      With --shared-key, --certificate or --login all that peers say is encrypted, and only members of the application are met. Without, \
      nothing is: for development, on networks you trust.

      While it runs, the other commands work on its store: dunlin status, top, peers, why, query, import, stats, backup, verify, inspect \
      and evict ask it through the socket control.sock in the store's directory, which only you can use.

      With --certificate a hangup (SIGHUP) has the certificate read again, so that a renewed one takes its place, and with --revocations \
      the lists; else it ends the peer.

      Example: two peers on one machine, the second of which pulls what the first has.
        dunlin serve depot --listen 127.0.0.1:4040
        dunlin serve copy --connect 127.0.0.1:4040 --subscribe orders

      Example: a peer that finds others on the local network by a key that all have.
        dunlin serve depot --shared-key key.txt --discover --subscribe orders

      Example: a peer behind a web proxy, and one that reaches it through the proxy.
        dunlin serve hub --shared-key key.txt --listen-websocket 127.0.0.1:8080
        dunlin serve till --shared-key key.txt --connect wss://example.org/sync
      """)

  @Argument(help: "The store's directory; made when there is none.", completion: .directory)
  var store: String
  @Option(help: "small (a device) or big (the cloud peer). A certificate must say the same.")
  var kind = PeerRole.small
  @Option(help: "What the peer calls itself.")
  var name = "dunlin"
  @OptionGroup(title: "Identity")
  var identity: IdentityOptions
  @Option(
    help: ArgumentHelp(
      "Where to listen; port 0 is any free one, and an IPv6 address stands in brackets.",
      valueName: "host:port"))
  var listen: [Endpoint] = []
  @Option(
    name: .customLong("listen-websocket"),
    help: ArgumentHelp("Where to listen for WebSockets, behind a web proxy.", valueName: "host:port"))
  var listenWebSocket: [Endpoint] = []
  @Option(
    name: .customLong("web-proxy"),
    help: ArgumentHelp(
      "The address of a proxy whose X-Forwarded-For is believed, so that limits go by it.",
      valueName: "address"))
  var webProxies: [String] = []
  @Option(
    help: ArgumentHelp(
      "A peer to stay connected to: host:port, or ws:// or wss:// and more.", valueName: "address"))
  var connect: [PeerPlace] = []
  @Flag(
    help: "Find peers of the application on the local networks, and be found: listens on all addresses then.")
  var discover = false
  @Option(help: ArgumentHelp("What to pull: a collection, or SELECT * FROM c WHERE …", valueName: "query"))
  var subscribe: [String] = []
  @Option(
    help: ArgumentHelp(
      "A collection's sync scope, for example drafts=LocalPeerOnly.", valueName: "name=scope"))
  var scope: [ScopeSetting] = []
  @Flag(help: "Run queries for other peers, which read whatever is here.")
  var answerQueries = false
  @Flag(help: "Keep what ALTER SYSTEM sets, sync scopes among it, over a restart.")
  var keepParameters = false
  @Flag(
    help:
      "Go on as the same peer though the files were copied: for a store that was moved, and whose original is never opened again."
  )
  var trustCopies = false
  @Option(
    help: ArgumentHelp(
      "Add a revocation list, as dunlin ca revoke makes it; it spreads to all peers.", valueName: "file"),
    completion: .file())
  var revocations: [String] = []
  @Flag(help: "Answer no other commands while it runs.")
  var noControlSocket = false
  @Flag(help: .hidden)
  var control = false

  func run() async throws {
    Allocator.keepLittle()
    LoggingSystem.bootstrap { _ in StandardErrorLog() }
    var configuration = DunlinConfiguration(
      peerKind: kind.peerKind, peerName: name, answersRemoteQueries: answerQueries)
    configuration.webProxies = Set(webProxies)
    configuration.webAuthority = identity.webAuthority
    configuration.keepsSystemParameters = keepParameters
    configuration.trustsCopies = trustCopies
    let dunlin = try Dunlin(path: store, identity: try identity.identity, configuration: configuration)
    if !scope.isEmpty {
      let scopes = Dictionary(scope.map { ($0.collection, $0.scope) }, uniquingKeysWith: { $1 })
      _ = try await dunlin.store.execute(
        query: "ALTER SYSTEM SET USER_COLLECTION_SYNC_SCOPES = :scopes", arguments: ["scopes": scopes])
    }
    guard !control else { return try await ControlServer(dunlin).run() }
    // Closing the database ends subscriptions in order, both when the user interrupts and when something
    // fails here.
    let interruption = Interruption {
      do {
        try dunlin.close()
      } catch {
        Output.note("\(error)")
      }
    }
    renewAtHangup(dunlin)
    var subscriptions: [DunlinSyncSubscription] = []
    let visitors = ServedConnections(dunlin)
    do {
      if !noControlSocket { openControlSocket(dunlin) }
      for query in subscribe {
        let statement = query.contains(" ") ? query : "SELECT * FROM `\(query)`"
        subscriptions.append(try dunlin.sync.registerSubscription(query: statement))
      }
      for address in connect {
        switch address {
        case .endpoint(let endpoint): dunlin.connect(host: endpoint.host, port: endpoint.port)
        case .url(let url): try dunlin.connect(url: url)
        }
      }
      for endpoint in listenWebSocket {
        try dunlin.listenForWebSockets(host: endpoint.host, port: endpoint.port)
      }
      for endpoint in listen { try dunlin.listen(host: endpoint.host, port: endpoint.port) }
      try dunlin.updateTransportConfig { $0.peerToPeer.lan.isEnabled = discover }
      try await Self.addRevocations(revocations, to: dunlin)
      try dunlin.startSync()
    } catch {
      try dunlin.close()
      throw error
    }
    let listeners = dunlin.parts.network.listeningAddresses
    for address in listeners.sorted() {
      // An IPv6 address has colons too, and the port stands behind the last one.
      let port = address[address.index(after: address.lastIndex(of: ":") ?? address.startIndex)...]
      show("listening on port \(port): \(address)")
    }
    if listeners.isEmpty, connect.isEmpty, !discover {
      show("meeting nobody: it neither listens nor connects; see --listen, --connect and --discover")
    }
    let filling = subscriptions.isEmpty ? nil : FillProgress(dunlin).start()
    // Until the database is closed.
    await visitors.show()
    filling?.cancel()
    withExtendedLifetime(subscriptions) {}
    await interruption.yieldToCleanUp()
  }

  /// Has certificate and revocation lists read again at each SIGHUP; wrong ones change nothing.
  private func renewAtHangup(_ dunlin: Dunlin) {
    #if TLS
      guard identity.certificate != nil || !revocations.isEmpty else { return }
      Interruption.atHangup { [identity, revocations] in
        Task {
          do {
            if identity.certificate != nil {
              try await dunlin.updateIdentity(try identity.identity)
              Output.note("the certificate was read again")
            }
          } catch {
            Output.note("the certificate could not be renewed: \(error)")
          }
          do {
            try await Self.addRevocations(revocations, to: dunlin)
          } catch {
            Output.note("the revocation lists could not be added: \(error)")
          }
        }
      }
    #endif
  }

  /// Adds revocation lists, and says which of them have something new.
  private static func addRevocations(_ files: [String], to dunlin: Dunlin) async throws {
    #if TLS
      for file in files where try await dunlin.addRevocations(ListFile.read(file)) {
        Output.note("\(file): the revocation list has taken effect")
      }
    #else
      guard files.isEmpty else { throw ToolError("this build has no TLS, and so nothing can be revoked") }
    #endif
  }

  /// Lets other commands ask this peer; one that cannot be asked serves others all the same.
  private func openControlSocket(_ dunlin: Dunlin) {
    do {
      try dunlin.openControlSocket()
    } catch {
      Output.note("warning: no other command can ask this peer: \(error)")
    }
  }
}

enum PeerRole: String, ExpressibleByArgument, CaseIterable {
  case small, big

  var peerKind: DunlinPeerKind {
    switch self {
    case .small: .small
    case .big: .big
    }
  }
}

struct Endpoint: ExpressibleByArgument {
  let host: String
  let port: Int

  /// Reads `host:port`; an IPv6 address stands in brackets, so that its colons are not the port's.
  init?(argument: String) {
    guard let colon = argument.lastIndex(of: ":") else { return nil }
    let digits = argument[argument.index(after: colon)...]
    var host = argument[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      return nil
    }
    guard !host.isEmpty, digits.allSatisfy(\.isASCII), digits.first?.isNumber == true, let port = Int(digits),
      (0...65_535).contains(port)
    else { return nil }
    self.host = String(host)
    self.port = port
  }

  /// `host:port`, with brackets where they are needed.
  var text: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// Where another peer is.
enum PeerPlace: ExpressibleByArgument {
  case endpoint(Endpoint)
  /// A URL, which the database reads: it knows the schemes.
  case url(String)

  init?(argument: String) {
    if LinkSchemes.isURL(argument) {
      self = .url(argument)
    } else if let endpoint = Endpoint(argument: argument) {
      self = .endpoint(endpoint)
    } else {
      return nil
    }
  }
}

struct ScopeSetting: ExpressibleByArgument {
  let collection: String
  let scope: String

  init?(argument: String) {
    guard let equals = argument.lastIndex(of: "=") else { return nil }
    collection = String(argument[..<equals])
    scope = String(argument[argument.index(after: equals)...])
  }
}
