import CRDTCore
import DocStore
import Glibc
import Synchronization
import TestKit

/// Forks a process that writes: the copy has the store in its hands and may do nothing with it.
struct ForkCampaign {
  let seed: UInt64

  private static let hangSeconds: UInt32 = 20

  func run(forks: Int) throws -> Tally {
    try Scratch.with { scratch in
      let peers = try PeerDocuments.make(in: scratch)
      let model = Model(seed: seed, lanes: 2, peers: peers)
      let path = scratch.file("db")
      let lines = try Child.run { descriptor in
        Child.write(try forkWhileWriting(path, model, forks).lines, to: descriptor)
      }
      let tally = Tally(lines: lines.joined(separator: "\n"))
      let acknowledged = model.lanes.map { tally["lane \($0.number)"] }
      _ = try Child.run { _ in
        var model = model
        let store = try Store.open(at: path, options: .silent)
        _ = try StoreCheck(store, &model, acknowledged: acknowledged)
        store.close()
      }
      var result = Tally()
      result["forks"] = forks
      result["answers that were right"] = tally["answers"]
      result["commits beside them"] = acknowledged.reduce(0, +)
      return result
    }
  }

  private func forkWhileWriting(_ path: String, _ model: Model, _ forks: Int) throws -> Tally {
    var tally = Tally()
    try rehearse(path + "-rehearsal")
    let store = try Store.open(at: path, options: .silent)
    try Model.prepare(store)
    let progress = Mutex((isOver: false, counts: model.lanes.map(\.count), failure: String?.none))
    let threads = try model.lanes.map { lane in
      try LaneThread {
        var runner = LaneRunner(lane: lane, store: store, defect: .none) { lane, count, _ in
          progress.withLock { $0.counts[lane] = count }
        }
        do {
          while !progress.withLock({ $0.isOver }) { try runner.step() }
        } catch {
          progress.withLock { $0.failure = "\(Failure(wrapping: error))" }
        }
      }
    }
    var random = SeededGenerator(seed: seed)
    var result: Result<Void, any Error> = .success(())
    do {
      for number in 0..<forks {
        usleep(UInt32(random.int(below: 3_000)))
        let lines = try Child.run { descriptor in
          alarm(Self.hangSeconds)
          let answers = try tryEverything(store, path, expecting: .forked, ofOpening: .alreadyOpen)
          if number % 2 == 0 { store.close() }
          Child.write(answers, to: descriptor)
        }
        tally["answers"] += lines.first.flatMap { Int($0) } ?? 0
      }
    } catch {
      result = .failure(error)
    }
    progress.withLock { $0.isOver = true }
    for thread in threads { thread.join() }
    store.close()
    try result.get()
    let (counts, failure) = progress.withLock { ($0.counts, $0.failure) }
    if let failure { throw Failure(parsing: failure) }
    for (lane, count) in counts.enumerated() { tally["lane \(lane)"] = count }
    return tally
  }

  /// Does in this process what a fork will do.
  ///
  /// The Swift runtime initialises types and casts under a lock at their first use. A fork has no thread that
  /// would release the lock. So the process must use everything before the forks begin.
  private func rehearse(_ path: String) throws {
    let store = try Store.open(at: path, options: .silent)
    store.close()
    _ = try tryEverything(store, path, expecting: .closed, ofOpening: nil)
  }

  /// Every use of the store is refused, and a new one as well, unless `opening` is `nil`.
  ///
  /// - Returns: A line with the number of answers that were right.
  private func tryEverything(
    _ store: Store, _ path: String, expecting use: StoreError.Code, ofOpening opening: StoreError.Code?
  ) throws -> String {
    let uses: [(String, StoreError.Code?, () throws -> Void)] = [
      ("read", use, { try store.read { _ = $0.sequence } }),
      ("write", use, { try store.write { try $0.upsert([:], id: DocumentID("fork"), into: "cars") } }),
      ("statistics", use, { _ = try store.statistics() }),
      ("backup", use, { try store.backup(to: path + "-fork") }),
      ("compact", use, { try store.compact() }),
      ("open", opening, { try Store.open(at: path, options: .silent).close() }),
    ]
    for (name, expected, use) in uses {
      var answer: StoreError.Code?
      do {
        try use()
      } catch let error as StoreError {
        answer = error.code
      }
      guard answer == expected else {
        throw Failure(.answer, "\(name) in a fork: \(answer.map { "\($0)" } ?? "succeeded")")
      }
    }
    return "\(uses.count)\n"
  }
}
