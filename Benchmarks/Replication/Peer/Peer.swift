import BenchmarkSupport
import CRDTCore
import DocStore
import Foundation
import Logging
import QueryEngine
import ScopePolicy
import SyncProtocol
import Synchronization
import Transports

/// A store with its network, as an application would set it up; fsync and limits are those of production.
final class Peer: Sendable {
  let store: Store
  let network: PeerNetwork
  let arrivals = ArrivalLog()
  private let notes = Notes()
  private let listener: CommitListener
  private let watcher: Task<Void, Never>

  /// What a person would have been told.
  private final class Notes: Sendable {
    let warnings = Mutex<[String]>([])
    let oversize = Mutex<[String]>([])
  }

  init(path: String, name: String, level: Int? = nil, isSecure: Bool = false) throws {
    var options = StoreOptions()
    options.log = { [notes] level, line in
      if level >= .warning { notes.warnings.withLock { $0.append(line) } }
    }
    #if TLS
      if isSecure { PeerProof.prepare(&options) }
    #endif
    store = try Store.open(at: path, options: options)
    listener = store.onCommit { [arrivals] in arrivals.take($0) }
    var networkOptions = PeerNetwork.Options()
    networkOptions.logger.logLevel = .error
    networkOptions.requiresProof = isSecure
    network = PeerNetwork(
      setup: SessionDriver.Setup(
        store: store, gate: SyncScopes(),
        configuration: SessionConfiguration(
          kind: .small, peerName: name, appID: "benchmark", compressionLevel: level)),
      options: networkOptions)
    #if TLS
      if isSecure { try PeerProof.prove(network) }
    #endif
    try network.start()
    let events = network.events()
    watcher = Task { [notes] in
      for await event in events {
        if case .session(_, .oversize(_, let id, _)) = event, case .string(let text) = id.value {
          notes.oversize.withLock { $0.append(text) }
        }
      }
    }
  }

  func close() async {
    watcher.cancel()
    await network.stop()
    listener.cancel()
    store.close()
  }

  /// Connects to a peer on this machine.
  func connect(port: Int, route: Route) async throws {
    switch route {
    case .tcp: network.connect(host: "127.0.0.1", port: port)
    case .webSocket: network.connect(to: try WebSocketAddress("ws://127.0.0.1:\(port)"))
    case .wireless: try await connect(port: port, through: .wireless)
    case .slow: try await connect(port: port, through: .constrained)
    }
  }

  private func connect(port: Int, through profile: LinkProfile) async throws {
    let link = try await TCPConnector(host: "127.0.0.1", port: port).connect()
    network.adopt(ThrottledLink(link, profile: profile), direction: .outgoing)
  }

  /// Where the peer stands, and what it has moved.
  func state(of collection: String) throws -> Reply {
    var reply = Reply()
    var digest = Summary.zero
    var documents = 0
    var recordBytes = 0
    try store.read { transaction in
      guard let found = try transaction.collection(collection) else { return }
      try transaction.forEachRecord(in: found) { _, summary, record in
        guard record.isAlive else { return true }
        digest = digest &+ summary
        documents += 1
        recordBytes += record.byteCount
        return true
      }
    }
    let statistics = network.connections.first?.statistics ?? SyncStatistics()
    reply.figures = [
      "documents": Double(documents), "recordBytes": Double(recordBytes),
      "bytesSent": Double(statistics.bytesSent), "bytesReceived": Double(statistics.bytesReceived),
      "plainBytesSent": Double(statistics.plainBytesSent),
      "documentsSent": Double(statistics.documentsSent), "roundTrips": Double(statistics.roundTrips),
      "cpuSeconds": Measures.cpuSeconds, "peakResidentBytes": Measures.peakResidentBytes,
      "anonymousBytes": Measures.anonymousBytes, "heldBytes": Measures.heldBytes,
      "fileBytes": Double(Measures.fileBytes(below: store.path)),
      "changes": Double(arrivals.changes(in: collection)),
      "warnings": Double(notes.warnings.withLock { $0.count }),
    ]
    reply.words["digest"] = "\(digest.high)-\(digest.low)"
    reply.words["oversize"] = notes.oversize.withLock { $0.joined(separator: " ") }
    return reply
  }
}

extension LinkProfile {
  /// A middling Wi-Fi.
  static let wireless: LinkProfile = {
    var profile = LinkProfile()
    profile.bytesPerSecond = 1_000_000
    profile.latency = .milliseconds(5)
    return profile
  }()
}
