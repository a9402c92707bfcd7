import CRDTCore
import CoreFoundation  // a structure of C belongs to the module that the compiler loads first: this one or Glibc
import DocStore
import Facade
import Glibc
import PeerControl
import SyncProtocol
import Synchronization
import Transports

/// What a peer of a row does when it is told to.
final class PeerActions: Sendable {
  private let dunlin: Dunlin
  private let beats: Beats
  private let state = Mutex(State())

  private struct State {
    var subscriptions: [DunlinSyncSubscription] = []
    /// Memory held on purpose, for the control.
    var held: [[UInt8]] = []
  }

  /// Where a big peer is reached over HTTP, and with which keys.
  private let http: [TextKey: Value]

  init(_ dunlin: Dunlin, http: [TextKey: Value] = [:]) {
    self.dunlin = dunlin
    self.http = http
    beats = Beats(dunlin)
  }

  /// - Returns: The answer's fields.
  /// - Throws: Whatever went wrong, as the asker's error.
  func perform(_ action: String, _ request: [TextKey: Value]) throws -> [TextKey: Value] {
    switch action {
    case "subscribe":
      let subscription = try dunlin.sync.registerSubscription(query: request.text("query"))
      state.withLock { $0.subscriptions.append(subscription) }
    case "listen":
      try dunlin.listen()
      try dunlin.startSync()
      return ["port": .int(Int64(dunlin.listeningPorts.first ?? 0))]
    case "listen for web sockets":
      try dunlin.listenForWebSockets()
      let port = dunlin.listeningAddresses.first { $0.kind == "ws" }?.port
      return ["port": .int(Int64(port ?? 0))]
    case "connect":
      dunlin.connect(host: "127.0.0.1", port: request.number("port"))
      try dunlin.startSync()
    case "disconnect": dunlin.disconnect(host: "127.0.0.1", port: request.number("port"))
    case "fill": try fill(request)
    case "put": try put(request)
    case "change": try change(request)
    case "number": return ["number": .int(try number(of: request.text("document")))]
    case "beat": beats.start()
    case "stop beating": return ["written": .int(Int64(beats.stop()))]
    case "waits":
      return ["waits": .array(beats.takeWaits().map { .int($0) })]
    case "traffic": return traffic()
    case "http": return http
    case "site": return site()
    case "count": return ["documents": .int(Int64(try count(request.text("collection"))))]
    case "clock": return ["lead": .int(try clockLead())]
    case "trim": trim()
    case "hold": hold(request.number("bytes"))
    default: throw PeerError("unknown action \(action)")
    }
    return [:]
  }

  /// Writes the requested number of documents, a thousand in a transaction.
  ///
  /// Each document has a number `n` and a text of the requested bytes.
  private func fill(_ request: [TextKey: Value]) throws {
    let text = String(repeating: "text ", count: request.number("bytes") / 5)
    let count = request.number("count")
    for start in stride(from: 0, to: count, by: 1_000) {
      try dunlin.store.write { transaction in
        let collection = transaction.scoped(toCollectionNamed: request.text("collection"))
        for number in start..<min(start + 1_000, count) {
          let fields: [String: Any?] = ["_id": "\(number)", "n": number, "a": number % 97, "text": text]
          _ = try collection.upsert(fields)
        }
      }
    }
  }

  /// Writes a document of things with a text of so many bytes.
  private func put(_ request: [TextKey: Value]) throws {
    let text = String(repeating: "much ado about nothing; ", count: request.number("bytes") / 24)
    let fields: [String: Any?] = ["_id": request.text("document"), "n": -1, "text": text]
    _ = try dunlin.store.collection("things").upsert(fields)
  }

  /// The number that stands in a document of things; -2 where there is none.
  private func number(of document: String) throws -> Int64 {
    try dunlin.parts.store.read { transaction in
      guard let collection = try transaction.collection("things"),
        let record = try transaction.record(collection, DocumentID(document)),
        case .int(let number)? = try record.withView({ try $0.fields(collection.keys) })["n"]
      else { return -2 }
      return number
    }
  }

  /// Changes one document of things so many times, each time in a transaction of its own.
  private func change(_ request: [TextKey: Value]) throws {
    let collection = dunlin.store.collection("things")
    for number in 0..<request.number("count") {
      let fields: [String: Any?] = ["_id": request.text("document"), "n": number]
      _ = try collection.upsert(fields)
    }
  }

  private func traffic() -> [TextKey: Value] {
    let connections = dunlin.parts.network.connections
    return [
      "connections": .int(Int64(connections.count)),
      "met": .int(Int64(connections.filter { $0.peer != nil }.count)),
      "caughtUp": .bool(!connections.isEmpty && connections.allSatisfy { $0.caughtUp > 0 }),
      "received": .int(Int64(connections.reduce(0) { $0 + $1.statistics.bytesReceived })),
    ]
  }

  private func site() -> [TextKey: Value] {
    let site = dunlin.parts.store.site
    return ["high": .int(Int64(bitPattern: site.high)), "low": .int(Int64(bitPattern: site.low))]
  }

  private func count(_ name: String) throws -> UInt64 {
    try dunlin.parts.store.read { transaction in
      try transaction.collections().first { $0.name == name }.map { UInt64($0.documentCount) } ?? 0
    }
  }

  /// By how many milliseconds what this peer writes now is ahead of the wall clock.
  private func clockLead() throws -> Int64 {
    _ = try dunlin.store.collection("clock").upsert(["_id": "now", "at": Beats.now()] as [String: Any?])
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    let now = Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    let latest = try dunlin.parts.store.read { transaction -> ClockReading in
      guard let collection = try transaction.collection("clock"),
        let record = try transaction.record(collection, DocumentID("now"))
      else { return .zero }
      return try record.withView { try $0.vector(sites: transaction.sites).latest }
    }
    return Int64(clamping: latest.milliseconds) - now
  }

  /// Has the allocator give back to the system what it holds for nobody.
  private func trim() {
    guard let symbol = dlsym(nil, "malloc_trim") else { return }
    // SAFETY: glibc declares it so.
    let trim = unsafeBitCast(symbol, to: (@convention(c) (Int) -> Int32).self)
    _ = trim(0)
  }

  private func hold(_ bytes: Int) {
    state.withLock { $0.held.append([UInt8](repeating: 1, count: bytes)) }
  }
}
