import CRDTCore
import DocStore
import Foundation
import Logging
import QueryEngine
import SyncProtocol
import TestKit
import Transports

/// Lets everything pass.
struct OpenGate: SyncGate {
  var epoch: UInt64 { 0 }
  func fingerprint(toward peer: PeerKind) -> UInt64 { 0 }

  func maySend(collection: String, to peer: PeerKind) -> Bool { true }
  func mayAccept(collection: String, from peer: PeerKind) -> Bool { true }
}

/// A peer of a test: a store in a directory of its own and a network on it.
final class TestPeer: Sendable {
  let store: Store
  let network: PeerNetwork
  let setup: SessionDriver.Setup
  private let directory: TemporaryDirectory

  init(
    _ name: String, appID: String = "test", kind: PeerKind = .small, clock: TransportClock = .continuous,
    twinOf original: TestPeer? = nil, storeOptions options: StoreOptions = StoreOptions(),
    _ configure: (inout PeerNetwork.Options) -> Void = { _ in }
  ) throws {
    directory = try TemporaryDirectory()
    var storeOptions = options
    if let original {
      try Self.copy(original.directory.file("store"), to: directory.file("store"))
      storeOptions.trustsCopies = true
    }
    store = try Store.open(at: directory.file("store"), options: storeOptions)
    // Long enough for a machine that has much else to do.
    let configuration = SessionConfiguration(
      kind: kind, peerName: name, appID: appID, helloDeadline: .seconds(60), silence: .seconds(90))
    setup = SessionDriver.Setup(
      store: store, gate: OpenGate(), configuration: configuration, clock: clock)
    var options = PeerNetwork.Options()
    options.backoff = Backoff(initial: .milliseconds(5), longest: .milliseconds(50))
    options.logger = Logger(label: name) { _ in SwiftLogNoOpLogHandler() }
    options.limits.signOfLife = .seconds(60)
    options.limits.crossing = .seconds(60)
    options.absence = .zero
    configure(&options)
    network = PeerNetwork(setup: setup, options: options)
  }

  /// Copies the files of an open store, which may put one in another's place meanwhile.
  private static func copy(_ files: String, to copy: String) throws {
    for _ in 0..<100 {
      do { return try FileManager.default.copyItem(atPath: files, toPath: copy) } catch CocoaError
        .fileNoSuchFile
      {
        try? FileManager.default.removeItem(atPath: copy)
      }
    }
    try FileManager.default.copyItem(atPath: files, toPath: copy)
  }

  /// Ends everything in the right order, behind peers that are played by hand.
  func end(after others: HandPeer...) async {
    for other in others { other.hangUp() }
    await network.stop()
    store.close()
  }

  /// Writes `count` documents of some hundred bytes in one transaction.
  func fill(_ collection: String, _ ids: Range<Int>) async throws {
    _ = try await store.write { transaction in
      for id in ids {
        let fields: [TextKey: Value] = [
          "_id": .int(Int64(id)), "name": .string("document \(id)"), "number": .int(Int64(id * 7)),
          "text": .string(String(repeating: "some text ", count: 20)),
        ]
        try transaction.upsert(fields, into: collection)
      }
    }
  }

  /// Sets one field of one document.
  func set(_ collection: String, _ id: Int, _ field: String, _ value: Value) async throws {
    _ = try await store.write { transaction in
      try transaction.upsert(["_id": .int(Int64(id)), TextKey(field): value], into: collection)
    }
  }

  /// The living documents of a collection, by id.
  func documents(_ collection: String) throws -> [DocumentID: [TextKey: Value]] {
    try store.read { transaction in
      guard let collection = try transaction.collection(collection) else { return [:] }
      var documents: [DocumentID: [TextKey: Value]] = [:]
      try transaction.forEachRecord(in: collection) { id, _, record in
        if record.isAlive {
          documents[try DocumentID(validating: id)] = try record.fields(collection.keys)
        }
        return true
      }
      return documents
    }
  }

  /// Waits until `condition` holds, looking after each commit.
  func wait(
    with other: TestPeer? = nil, until condition: @escaping @Sendable () throws -> Bool
  ) async throws {
    let (commits, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let listeners = [self, other].compactMap { $0?.store.onCommit { _ in continuation.yield() } }
    defer { for listener in listeners { listener.cancel() } }
    continuation.yield()
    for await _ in commits where try condition() { return }
    throw CancellationError()
  }

  /// Waits until the network has met so many peers, and no more connections than these are there.
  func wait(forPeers names: Set<String>) async throws {
    try await wait { $0.count == names.count && Set($0.compactMap { $0.peer?.name }) == names }
  }

  /// Waits until the network's connections are as `condition` says.
  func wait(forConnections condition: ([PeerConnection]) -> Bool) async throws {
    while !condition(network.connections) { try await Task.sleep(for: .milliseconds(2)) }
  }
}

extension SessionEnd {
  /// The code of the session's error; `nil` where the link ended it.
  var sessionCode: SyncError.Code? {
    if case .session(let error) = self { error.code } else { nil }
  }

  /// The code of the link's error; `nil` where the session ended itself.
  var linkCode: LinkError.Code? {
    if case .link(let error) = self { error.code } else { nil }
  }
}

/// Everything in a collection.
func everything(_ collection: String) throws -> [SubscriptionQuery] {
  [try SubscriptionQuery(collection: collection, builder: "true")]
}
