import CRDTCore
import DocStore
import Glibc
import QueryEngine
import Synchronization
import SyncProtocol

/// Any sequence of well-formed frames from a peer: the session answers or ends, and never traps.
///
/// The input is a list of frames without checksums: type, length as two bytes, payload. What the session asks
/// to apply is applied in a transaction that is rolled back, so that every input meets the same store.
enum Target {
  static let seeds: [[UInt8]] = {
    let whole = conversation()
    return (1...4).map { Array(whole.prefix(whole.count * $0 / 4)) }
  }()
  private static let own = store("own", seed: 1, ids: 0..<6)
  private static let other = store("other", seed: 1_000, ids: 3..<9)

  static func run(_ input: [UInt8]) {
    let peer = Peer(own, .small)
    peer.take(peer.session.start(now: .zero))
    var number: UInt32?
    var rest = input[...]
    while rest.count >= 3, !peer.session.isClosed {
      let type = rest.removeFirst()
      let length = Int(rest.removeFirst()) << 8 | Int(rest.removeFirst())
      let payload = rest.prefix(length)
      rest = rest.dropFirst(length)
      var frame = FrameCodec.frame(rawType: type, isFirst: number == nil) { $0.write(payload) }
      FrameCodec.number(&frame, as: number ?? 0)
      number = number.map { $0 &+ 1 } ?? 0
      peer.receive(frame)
    }
  }

  /// What the other peer says to this one when both tell the truth.
  private static func conversation() -> [UInt8] {
    let here = Peer(own, .small)
    let there = Peer(other, .big)
    here.take(here.session.start(now: .zero))
    there.take(there.session.start(now: .zero))
    var said: [UInt8] = []
    for _ in 0..<50 {
      let toHere = there.takeSent()
      let toThere = here.takeSent()
      if toHere.isEmpty, toThere.isEmpty { break }
      there.receive(toThere)
      here.receive(toHere)
      var offset = 0
      while let frame = try? FrameCodec.bounds(in: toHere.span.bytes, at: offset) {
        said += [frame.type, UInt8(frame.payload.count >> 8), UInt8(frame.payload.count & 0xFF)]
        said += toHere[frame.payload]
        offset = frame.end
      }
    }
    return said
  }

  private static func store(_ name: String, seed: UInt64, ids: Range<Int>) -> Store {
    let directory = getenv("FUZZ_DIRECTORY").map { String(cString: $0) } ?? "/tmp"
    let numbers = Mutex(seed)
    let options = StoreOptions(
      mapBytes: 64 << 20, now: { 1_700_000_000_000 },
      random: {
        numbers.withLock {
          $0 += 1
          return $0
        }
      }, log: { _, _ in })
    do {
      let store = try Store.open(at: "\(directory)/\(name)-\(getpid())", options: options)
      _ = try store.write { transaction in
        for id in ids {
          _ = try transaction.upsert(
            ["_id": .int(Int64(id)), "by": .string(name), "n": .int(Int64(id))], into: "a")
        }
        _ = try transaction.upsert(Samples.fields, id: try DocumentID("sample"), into: "b")
      }
      return store
    } catch {
      preconditionFailure("no store: \(error)")
    }
  }
}

/// A session and the least of a driver for it.
private final class Peer {
  private struct RolledBack: Error {}

  private struct OpenGate: SyncGate {
    let epoch: UInt64 = 0
    func fingerprint(toward peer: PeerKind) -> UInt64 { 0 }
    func maySend(collection: String, to peer: PeerKind) -> Bool { true }
    func mayAccept(collection: String, from peer: PeerKind) -> Bool { true }
  }

  let session: Session
  private let store: Store
  private var sent: [UInt8] = []
  /// How often the session may still be called for work it has put off.
  private var ticks = 64

  init(_ store: Store, _ kind: PeerKind) {
    self.store = store
    session = Session(
      id: 1, store: store, gate: OpenGate(),
      configuration: SessionConfiguration(kind: kind, appID: "fuzz", random: { 4 }))
    let queries = [
      try? SubscriptionQuery(dql: "SELECT * FROM a WHERE n >= 2"),
      try? SubscriptionQuery(dql: "SELECT * FROM b"),
    ]
    take(session.subscriptionsChanged(queries.compactMap { $0 }, now: .zero))
  }

  func receive(_ bytes: [UInt8]) {
    take(session.receive(bytes, now: .seconds(1)))
    // The bound for any unpacked bytes: what a session may hold, and one small group, which takes at most 86
    // times its bytes.
    let most = SessionConfiguration(kind: .small).arrivedBytes + 86 * SyncLimits.smallTransactionBytes
    precondition(session.footprint.heldBytes <= most, "\(session.footprint.heldBytes) bytes are held")
    // What is put off goes on with each call, until it is looked at or waits for what is applied.
    precondition(session.isClosed || session.isHolding || session.footprint.unreadBytes == 0)
  }

  func takeSent() -> [UInt8] {
    defer { sent = [] }
    return sent
  }

  func take(_ actions: [Action]) {
    for action in actions {
      switch action {
      case .send(let bytes): sent += bytes
      case .apply(let batch): take(session.applied(batch.ticket, outcome(of: batch), now: .seconds(1)))
      case .wake(let delay) where delay == .zero && ticks > 0:
        ticks -= 1
        take(session.tick(now: .seconds(1)))
      case .wake, .close, .event, .pack, .nudge, .query, .admission, .presence: continue
      }
    }
  }

  private func outcome(of batch: ApplyBatch) -> Result<ApplyOutcome, any Error> {
    var result: Result<ApplyOutcome, any Error> = .success(ApplyOutcome())
    do {
      _ = try store.write(origin: .remote(1)) { transaction in
        result = Result { try batch.apply(in: transaction) }
        throw RolledBack()
      }
    } catch {}
    return result
  }
}
