import CRDTCore
import DocStore
import Foundation
import QueryEngine
import SyncProtocol
import TestKit
import Testing
import Transports

struct OpenGate: SyncGate {
  let epoch: UInt64 = 0
  func maySend(collection: String, to peer: PeerKind) -> Bool { true }
  func mayAccept(collection: String, from peer: PeerKind) -> Bool { true }
  func fingerprint(toward peer: PeerKind) -> UInt64 { 0 }
}

/// The code of `Documentation/Modules.md`.
@Suite struct ModulesPageTests {
  @Test func `documents merge without a store`() throws {
    let milliseconds: UInt64 = 1_893_499_200_000

    var tablet = Replica(site: SiteID(high: .random(in: 1 ... .max), low: .random(in: 0 ... .max)))
    var order = ReplicatedDocument()
    try tablet.upsert(["status": .string("open"), "count": .counter(0)], into: &order, now: milliseconds)
    try tablet.update(
      [.set(["status"], .string("paid")), .increment(["count"], 1)], of: &order, now: milliseconds)
    let fields = try tablet.fields(of: order)

    #expect(fields == ["status": .string("paid"), "count": .counter(1)])
    var phone = Replica(site: SiteID(high: 7, low: 7))
    var copy = ReplicatedDocument()

    let whole = try tablet.encoding(of: order)
    try phone.merge(whole, into: &copy, now: milliseconds)

    let known = try phone.vector(of: copy)
    try tablet.update([.set(["seat"], .string("12A"))], of: &order, now: milliseconds)
    let delta = try tablet.delta(of: order, since: known)
    let outcome = try phone.merge(delta, into: &copy, now: milliseconds)

    #expect(outcome == .changed && delta.count < whole.count)
    let both = (try tablet.fields(of: order), try phone.fields(of: copy))
    #expect(both.0 == both.1)
    var late = ReplicatedDocument()
    let lacking = try phone.merge(delta, into: &late, now: milliseconds)
    #expect(lacking == .missingBase)
    #expect(throws: CodecError.self) { try phone.merge([0xFF, 1], into: &copy, now: milliseconds) }
    let after = try phone.fields(of: copy)
    #expect(after == both.0)
  }

  @Test func `a store alone, queries over it, and its connections`() throws {
    let folder = try TemporaryDirectory()
    let directory = folder.path

    let store = try Store.open(at: directory + "/aircraft")
    let (id, receipt) = try store.write { transaction in
      try transaction.upsert(["_id": .string("12A"), "meal": .string("pasta")], into: "orders")
    }
    let fields = try store.read { transaction in
      guard let orders = try transaction.collection("orders") else { return nil as [TextKey: Value]? }
      return try transaction.record(orders, id)?.withView { try $0.fields(orders.keys) }
    }

    defer { store.close() }
    #expect(receipt.sequence > 0 && fields == ["meal": .string("pasta")])
    let (lastSequence, theirVector) = (UInt64(0), VersionVector())

    let written = try store.read { transaction in
      var written: [DocumentKey] = []
      let isWhole = try transaction.forEachWritten(after: lastSequence) { _, document in
        written.append(document)
        return true
      }
      return isWhole ? written : nil
    }
    let delta = try store.read { transaction in
      guard let orders = try transaction.collection("orders") else { return nil as [UInt8]? }
      return try transaction.delta(of: id, in: orders, since: theirVector)
    }

    #expect(written?.map(\.id) == [id] && delta != nil)

    let engine = Engine(
      store: store, parameters: SystemParameters(),
      environment: EngineEnvironment(now: { DispatchTime.now().uptimeNanoseconds }))
    let result = try engine.execute(
      "SELECT meal, COUNT(*) AS n FROM orders GROUP BY meal", arguments: [:])
    let rows = try result.rows.map { try $0.values() }

    #expect(rows == [["meal": .string("pasta"), "n": .int(1)]])

    let network = PeerNetwork(
      setup: SessionDriver.Setup(
        store: store, gate: OpenGate(),
        configuration: SessionConfiguration(kind: .small, peerName: "galley", appID: "meals")))
    network.subscribe(to: [try SubscriptionQuery(dql: "SELECT * FROM orders")])
    try network.start()
    let port = try network.listen(host: "127.0.0.1", port: 0)

    #expect(port.map { network.listeningPorts == [$0] } == true)
    network.close()
  }
}
