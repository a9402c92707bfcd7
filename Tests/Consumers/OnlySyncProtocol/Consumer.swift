import DocStore
import Foundation
import QueryEngine
import SyncProtocol
import Synchronization

/// Three stores that sync over pipes of this program, by a driver of its own.
@main
struct Consumer {
  static func main() async throws {
    let directory = NSTemporaryDirectory() + "/dunlin-consumer-\(UUID())"
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let galley = SyncedStore(try Store.open(at: directory + "/galley"), gate: OpenGate())
    let tablet = SyncedStore(try Store.open(at: directory + "/tablet"), gate: OpenGate())
    let all = try SubscriptionQuery(dql: "SELECT * FROM meals")
    let open = try SubscriptionQuery(dql: "SELECT * FROM meals WHERE status = 'open'")
    galley.subscribe(to: [all])
    tablet.subscribe(to: [open], evicting: [open])

    let ends = Mutex<[SyncError.Code]>([])
    let onEnd: @Sendable (SyncError) -> Void = { reason in ends.withLock { $0.append(reason.code) } }
    let pipe = try SocketEnd.pair()
    var configuration = SessionConfiguration(
      kind: .small, peerName: "meals", appID: "meals", compressionLevel: 6)
    let outside = galley.sync(over: pipe.0, as: configuration, onEnd: onEnd)
    let asking = tablet.sync(over: pipe.1, as: configuration, onEnd: onEnd)

    // Documents go both ways.
    try await galley.put("12A")
    try await tablet.put("12B")
    try await wait("what the galley wrote") { try tablet.has("12A") }
    try await wait("what the tablet wrote") { try galley.has("12B") }

    // A large document is compressed on another thread.
    let pasta = String(repeating: "pasta with tomatoes, ", count: 20)
    try await galley.put("menu", ["text": .string(String(repeating: pasta, count: 300))])
    try await wait("a large document") { try tablet.has("menu") }
    let packed = await outside.statistics
    precondition(packed.packedBytesSent * 4 < packed.plainBytesSent, "pieces must be packed")

    // While the session is busy, commits are dropped; what they changed arrives all the same.
    let goOn = DispatchSemaphore(value: 0)
    outside.call { _, _ in
      goOn.wait()
      return []
    }
    for row in 1...300 { try await galley.put("row \(row)", ["text": .string(pasta)]) }
    let isBehind = outside.lostThrough != nil
    goOn.signal()
    precondition(isBehind, "commits must be dropped")
    try await wait("what dropped commits wrote") { try (1...300).allSatisfy { try tablet.has("row \($0)") } }

    // What leaves the subscription is evicted, and stays where all is wanted.
    try await galley.put("12A", ["status": .string("served")])
    try await wait("the eviction") { try !tablet.has("12A") }
    let isKept = try galley.has("12A")
    precondition(isKept, "only the tablet evicts")

    // A statement runs at the other peer.
    let statement = "SELECT _id FROM meals WHERE status = :status"
    let rows = try await asking.rows(of: QueryQuestion(statement, arguments: ["status": .string("served")]))
    precondition(rows.map(\.values) == [["_id": .string("12A")]])
    do {
      _ = try await asking.rows(of: QueryQuestion("DELETE FROM meals"))
      fatalError("a statement that writes must be refused")
    } catch let error as RemoteQueryError {
      precondition(error.code == .unsupported)
    }

    // Another peer joins over a link that is declared to be local, and gets all without compression.
    let crew = SyncedStore(try Store.open(at: directory + "/crew"), gate: OpenGate())
    crew.subscribe(to: [all])
    let local = try SocketEnd.pair()
    configuration.compressionLevel = nil
    configuration.isLocal = true
    let inside = galley.sync(over: local.0, as: configuration, onEnd: onEnd)
    let hasAll = Mutex(false)
    let onEvent: @Sendable (SyncEvent) -> Void = { event in
      if case .caughtUp = event { hasAll.withLock { $0 = true } }
    }
    _ = crew.sync(over: local.1, as: configuration, onEvent: onEvent, onEnd: onEnd)
    try await wait("a first sync") { hasAll.withLock { $0 } }
    let (there, here) = (try galley.ids(), try crew.ids())
    precondition(there.count == 303 && here == there)
    let stored = await inside.statistics
    precondition(stored.packedBytesSent * 4 > stored.plainBytesSent, "on one machine nothing must be packed")

    // Both ends of each session hear why it is over, and a question after that is answered.
    asking.close()
    local.1.close()
    try await wait("the ends") { ends.withLock { $0.count } == 4 }
    precondition(ends.withLock { Set($0) } == [.closed, .peerClosed])
    do {
      _ = try await asking.rows(of: QueryQuestion("SELECT * FROM meals"))
      fatalError("nobody can answer")
    } catch let error as RemoteQueryError {
      precondition(error.code == .closed)
    }
    for peer in [galley, tablet, crew] { peer.store.close() }

    print("SyncProtocol alone: ok")
  }

  /// Waits until something is so.
  static func wait(_ what: String, until condition: @Sendable () throws -> Bool) async throws {
    for _ in 0..<3_000 {
      if try condition() { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    fatalError("\(what): not within 30 seconds")
  }
}

/// Lets everything out and in.
struct OpenGate: SyncGate {
  let epoch: UInt64 = 0
  func maySend(collection: String, to peer: PeerKind) -> Bool { true }
  func mayAccept(collection: String, from peer: PeerKind) -> Bool { true }
  func fingerprint(toward peer: PeerKind) -> UInt64 { 0 }
}

extension SyncedStore {
  /// Writes an open meal, or other fields of one.
  func put(_ id: String, _ fields: [TextKey: Value] = [:]) async throws {
    let document: [TextKey: Value] = ["_id": .string(id), "status": .string("open")]
    let all = document.merging(fields) { $1 }
    _ = try await store.write { try $0.upsert(all, into: "meals") }
  }

  func has(_ id: String) throws -> Bool {
    let id = try DocumentID(id)
    return try store.read { transaction in
      guard let meals = try transaction.collection("meals") else { return false }
      return try transaction.record(meals, id) != nil
    }
  }

  /// The ids of all meals.
  func ids() throws -> [Value?] {
    let rows = try engine.execute("SELECT _id FROM meals ORDER BY _id", arguments: [:]).rows
    return try rows.map { try $0.values()["_id"] }
  }
}

extension PipeDriver {
  /// What the session has moved.
  var statistics: SyncStatistics {
    get async {
      await withCheckedContinuation { continuation in
        call { session, _ in
          continuation.resume(returning: session.statistics)
          return []
        }
      }
    }
  }

  /// All rows of a statement's answer.
  func rows(of question: QueryQuestion) async throws -> [QueryRow] {
    try await withCheckedThrowingContinuation { continuation in
      ask(question) { continuation.resume(with: $0) }
    }
  }
}
