import BenchmarkSupport
import DunlinKit
import Foundation
import Logging
import Synchronization

/// A peer as an application has it, through `DunlinKit`: it writes on its own thread and has an observer.
///
/// It answers the requests of the latency case.
final class ApplicationPeer: PeerService {
  private let database: Dunlin
  private let subscription = Mutex<DunlinSyncSubscription?>(nil)

  init(path: String, name: String, isSecure: Bool = false) throws {
    var logger = Logger(label: name)
    logger.logLevel = .error
    database = try Dunlin(
      path: path, identity: try Self.identity(isSecure),
      configuration: DunlinConfiguration(peerName: name, logger: logger))
    try database.startSync()
  }

  private static func identity(_ isSecure: Bool) throws -> DunlinIdentity {
    guard isSecure else { return .unsafeDevelopment(appID: "benchmark") }
    #if TLS
      let key = try DunlinSharedKey(Data(PeerProof.sharedKey).base64EncodedString())
      return .sharedKey(appID: "benchmark", key: key)
    #else
      throw BenchmarkError("this build has no TLS")
    #endif
  }

  func close() { try? database.close() }

  func answer(_ request: Request, ready: @Sendable () -> Void) async throws -> Reply {
    var reply = Reply()
    switch request {
    case .open, .quit: break
    case .listen:
      try database.listen()
      reply.figures["port"] = Double(database.listeningPorts.first ?? 0)
    case .mark(let collection): try await database[collection].upsert(["_id": "mark", "is": "a mark"])
    case .pull(let collection, let port, _, let count): try await pull(collection, from: port, count)
    case .observe(let collection, let count):
      reply.times = try await observe(collection, count, ready)
    case .commitOneByOne(let collection, let count, let gap):
      reply = try await commitOneByOne(collection, count, gap: gap)
    case .load, .subscribe, .join, .meet, .part, .wait, .updateField, .writeLarge, .holds, .scan, .state:
      throw BenchmarkError("an application has no answer to this")
    }
    return reply
  }

  private func pull(_ collection: String, from port: Int, _ count: Int) async throws {
    let pulled = try database.sync.registerSubscription(query: "SELECT * FROM \(collection)")
    subscription.withLock { $0 = pulled }
    database.connect(host: "127.0.0.1", port: port)
    for try await diff in try database.store.changes(of: "SELECT * FROM \(collection)")
    where diff.items.count >= count { return }
  }

  /// - Returns: When the handler was called with each document, by its `number`; 0 for those that did not
  ///   come within ten minutes.
  private func observe(
    _ collection: String, _ count: Int, _ ready: @Sendable () -> Void
  ) async throws -> [Double] {
    let times = Mutex([Double](repeating: 0, count: count))
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    let observer = database[collection].findAll().observeLocal { documents, event in
      guard case .update(let update) = event else {
        end.yield()
        return
      }
      let now = Measures.nanoseconds
      for index in update.insertions + update.updates {
        guard let number = documents[index]["number"].int, number < count else { continue }
        times.withLock { $0[number] = now }
        if number == count - 1 { end.finish() }
      }
    }
    let deadline = Task {
      try await Task.sleep(for: .seconds(600))
      end.finish()
    }
    defer { deadline.cancel() }
    var isFirst = true
    for await _ in ends where isFirst {
      ready()
      isFirst = false
    }
    observer.stop()
    return times.withLock { $0 }
  }

  /// As the other peers do it: a thousand ids, so that most commits change a document.
  private func commitOneByOne(_ collection: String, _ count: Int, gap: Int) async throws -> Reply {
    let ticks = database[collection]
    return try await onThread {
      var reply = Reply()
      var orders = Orders()
      for number in 0..<count {
        let order = try JSONSerialization.jsonObject(with: Data(orders.next().dropLast()))
        guard var fields = order as? [String: Any] else { throw BenchmarkError("an order is no document") }
        fields["_id"] = "tick-\(number % 1_000)"
        fields["number"] = number
        reply.times.append(Measures.nanoseconds)
        try ticks.upsert(fields)
        reply.endTimes.append(Measures.nanoseconds)
        usleep(UInt32(gap * 1_000))
      }
      return reply
    }
  }

  private func onThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      Thread { continuation.resume(with: Result { try body() }) }.start()
    }
  }
}
