import BenchmarkSupport
import CRDTCore
import DocStore
import Foundation
import QueryEngine
import ScopePolicy
import SyncProtocol
import Synchronization

/// What a commit costs a session whose peer has 256 subscriptions, none of which the documents match.
///
/// Subscriptions that look for texts stand beside as many that compare a field, by which they are measured.
struct SubscriptionLayers {
  let rounds: Int
  let commits: Int
  private static let count = 256

  private struct Kind: Sendable {
    let name: String
    let predicate: @Sendable (Int) -> String
  }

  private static let kinds = [
    Kind(name: "text = x") { "text = 'sought \($0)'" },
    Kind(name: "text ILIKE '%x%'") { "text ILIKE '%sought \($0)%'" },
    Kind(name: "text ILIKE '%x_y%'") { "text ILIKE '%sought_\($0)%'" },
    Kind(name: "regexp_like(text, x)") { "regexp_like(text, 'sought [0-9]*\($0)')" },
  ]

  func run(_ report: inout Report, in directory: URL) throws {
    for (size, name) in [(1_000, "1 KB"), (100_000, "100 KB")] {
      for round in 0..<rounds {
        var costs: [Double] = []
        for (number, kind) in Self.kinds.enumerated() {
          let place = directory.appendingPathComponent("\(size)-\(round)-\(number)")
          let cost = try measure(kind, textBytes: size, in: place)
          costs.append(cost)
          report.add(
            "subscriptions: 256 of \(kind.name), a commit with a text of \(name)", cost, .nanoseconds)
          if number > 0 {
            report.add("subscriptions: \(kind.name) by text = x, \(name)", cost / max(costs[0], 1), .times)
          }
        }
      }
    }
  }

  /// - Returns: Nanoseconds of processor time of a commit of one document, at its session.
  private func measure(_ kind: Kind, textBytes: Int, in directory: URL) throws -> Double {
    let (hub, peer) = (try Link(at: directory.path + "-hub"), try Link(at: directory.path + "-peer"))
    defer {
      hub.store.close()
      peer.store.close()
    }
    let queries = try (0..<Self.count).map {
      try SubscriptionQuery(dql: "SELECT * FROM texts WHERE \(kind.predicate($0))")
    }
    try peer.perform(peer.session.subscriptionsChanged(queries, now: .zero))
    try hub.perform(hub.session.start(now: .zero))
    try peer.perform(peer.session.start(now: .zero))
    while try hub.step(peer) || peer.step(hub) {}
    let made = Mutex<[Commit]>([])
    let listener = hub.store.onCommit { commit in made.withLock { $0.append(commit) } }
    var prose = Prose(random: SplitMix64(seed: UInt64(textBytes)))
    for number in 0..<commits {
      let text = String(decoding: prose.text(textBytes), as: UTF8.self)
      try hub.store.write {
        try $0.upsert(["_id": .int(Int64(number)), "text": .string(text)], into: "texts")
      }
    }
    withExtendedLifetime(listener) {}
    let told = made.withLock { $0 }
    let start = Measures.threadNanoseconds
    let actions = hub.session.committed(told, now: .zero)
    let cost = Measures.threadNanoseconds - start
    try hub.perform(actions)
    guard told.count == commits, !hub.session.isClosed else { throw BenchmarkError("a session has ended") }
    return cost / Double(commits)
  }
}

/// A store and its session, whose frames wait to be handed to the other one.
private final class Link {
  let store: Store
  let session: Session
  private var sent: [UInt8] = []
  private var isAwake = false

  init(at path: String) throws {
    store = try Store.open(at: path)
    session = Session(
      id: 1, store: store, gate: SyncScopes(), configuration: SessionConfiguration(kind: .big))
  }

  func perform(_ actions: [Action]) throws {
    for action in actions {
      switch action {
      case .send(let bytes): sent += bytes
      case .wake(let delay): if delay == .zero { isAwake = true }
      case .close(let error): throw error
      case .event, .nudge, .admission, .presence: break
      case .apply(let batch):
        // No documents come, but how far the other one was followed is kept.
        let outcome = try store.write(origin: .remote(1)) { try batch.apply(in: $0) }.0
        try perform(session.applied(batch.ticket, .success(outcome), now: .zero))
      case .pack, .query: throw BenchmarkError("nothing was to be sent")
      }
    }
  }

  /// Takes what the other one has sent, and goes on.
  ///
  /// - Returns: Whether there was anything to do.
  func step(_ other: Link) throws -> Bool {
    let bytes = other.sent
    other.sent = []
    if !bytes.isEmpty { try perform(session.receive(bytes, now: .zero)) }
    guard isAwake else { return !bytes.isEmpty }
    isAwake = false
    try perform(session.tick(now: .zero))
    return true
  }
}
