import CRDTCore
import DocStore
import Glibc
import TestKit

/// Several processes compete for one store: each holder counts on, and some are killed while they hold it.
struct TurnCampaign {
  let seed: UInt64
  /// Lets every process take away the lock that the others rely on.
  var removesLock = false

  private static let processes = 4
  private static let place = Place(collection: "turns", id: "all")

  func run(turns: Int) throws -> Tally {
    try Scratch.with { scratch in
      let path = scratch.file("db")
      _ = try Child.run { _ in
        let store = try open(path)
        try store.write { tx in
          try tx.upsert(["sum": .counter(0)], id: DocumentID(Self.place.id), into: Self.place.collection)
        }
        store.close()
      }
      var tally = Tally()
      var ledger = Ledger()
      var random = SeededGenerator(seed: seed)
      var children: [Child] = []
      var left = turns
      while left > 0 || !children.isEmpty {
        while left > 0, children.count < Self.processes {
          let seed = random.next()
          children.append(try Child.start { try takeTurn(path, seed, reportingTo: $0) })
          left -= 1
        }
        let child = children.remove(at: random.int(below: children.count))
        let isKilled = random.oneIn(3)
        if isKilled {
          usleep(UInt32(random.int(below: 4_000)))
          child.kill()
        }
        let lines = child.readAll().split(separator: "\n")
        let ending = child.wait()
        if ending == .signal(SIGKILL), isKilled {
          ledger.uncertain += 1
          tally["killed"] += 1
        } else if ending != .exit(0) {
          let line = lines.last { $0.hasPrefix("!") }?.dropFirst()
          throw line.map { Failure(parsing: String($0)) } ?? Failure(.crash, "a process ended: \(ending)")
        }
        for line in lines { try ledger.note(line) }
        tally["turns"] += 1
      }
      tally["commits acknowledged"] = ledger.acknowledged
      tally["openings refused"] = ledger.refused
      guard removesLock || ledger.refused > 0 else { throw Failure(.harness, "nobody ever had to wait") }
      let (acknowledged, uncertain) = (ledger.acknowledged, ledger.uncertain)
      _ = try Child.run { _ in
        let store = try open(path)
        let sum = try Self.sum(store)
        guard sum >= acknowledged else { throw Failure(.lost, "the sum is \(sum) after \(acknowledged)") }
        guard sum <= acknowledged + uncertain else { throw Failure(.torn, "\(sum) of \(acknowledged)") }
        store.close()
      }
      return tally
    }
  }

  /// What the processes told.
  private struct Ledger {
    var acknowledged = 0
    /// Commits that may have happened although nobody was told.
    var uncertain = 0
    var refused = 0
    private var sequences: Set<Substring> = []

    mutating func note(_ line: Substring) throws {
      if line.hasPrefix("r ") { refused += Int(line.dropFirst(2)) ?? 0 }
      guard line.hasPrefix("a ") else { return }
      acknowledged += 1
      guard sequences.insert(line).inserted else {
        throw Failure(.torn, "two commits have one sequence: \(line)")
      }
    }
  }

  /// Waits for the store as an application would, and counts on a few times.
  private func takeTurn(_ path: String, _ seed: UInt64, reportingTo descriptor: Int32) throws {
    var random = SeededGenerator(seed: seed)
    var refused = 0
    var taken: Store?
    while taken == nil {
      if removesLock { unlink(path + "/lock") }
      do {
        taken = try open(path)
      } catch let error as StoreError where error.code == .alreadyOpen {
        refused += 1
        usleep(UInt32(100 + random.int(below: 400)))
      }
    }
    Child.write("r \(refused)\n", to: descriptor)
    guard let store = taken else { return }
    for _ in 0..<(1 + random.int(below: 12)) {
      let before = try Self.sum(store)
      let (_, receipt) = try store.write { tx in
        let id = try DocumentID(Self.place.id)
        guard try tx.update(id, in: Self.place.collection, [.increment(["sum"], 1)]) else {
          throw Failure(.lost, "the counter is gone")
        }
      }
      Child.write("a \(receipt.sequence)\n", to: descriptor)
      guard try Self.sum(store) == before + 1 else { throw Failure(.torn, "somebody else counted too") }
    }
    store.close()
  }

  private func open(_ path: String) throws -> Store {
    try Store.open(at: path, options: .silent)
  }

  private static func sum(_ store: Store) throws -> Int {
    let fields = try store.read { tx -> [TextKey: Value]? in
      guard let collection = try tx.collection(place.collection) else { return nil }
      return try tx.withRecord(collection, DocumentID(place.id)) { record, _ in
        try record.fields(collection.keys)
      }
    }
    guard case .counter(let sum)? = fields?["sum"] else { throw Failure(.lost, "the counter is gone") }
    return Int(sum)
  }
}
