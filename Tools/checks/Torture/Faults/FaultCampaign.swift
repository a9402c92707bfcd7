import CRDTCore
import DocStore

/// Runs one script again and again, and makes another call fail each time.
struct FaultCampaign {
  let seed: UInt64
  let transactions: Int
  var poisons = true

  /// Does every `count`-th run, beginning with `worker`.
  func run(worker: Int, of count: Int) throws -> Tally {
    let shim = try Shim()
    return try Scratch.with { scratch in
      let peers = try PeerDocuments.make(in: scratch)
      let model = Model(seed: seed, lanes: 1, peers: peers)
      var tally = Tally()
      var index = 0
      for kind in Fault.kinds {
        var fault = kind
        fault.n = .max
        // The first run only counts the calls there are.
        let calls = try run(fault, model, shim, scratch, &tally)
        guard calls > 0 || fault.calls == .truncate else {
          throw Failure(.harness, "no call to fail: \(fault.name)")
        }
        for n in 1..<(calls + 1) {
          index += 1
          guard index % count == worker else { continue }
          fault.n = n
          _ = try run(fault, model, shim, scratch, &tally)
          tally["runs"] += 1
        }
      }
      return tally
    }
  }

  /// One run in a child, and a look at what it left in another.
  ///
  /// - Returns: How many calls could have failed.
  private func run(
    _ fault: Fault, _ model: Model, _ shim: Shim, _ scratch: Scratch, _ tally: inout Tally
  ) throws -> Int {
    let root = scratch.file("faulty")
    Files.removeTree(root)
    var lines: [Substring] = []
    do {
      lines = try Child.run { descriptor in
        shim.watch(root)
        shim.arm(fault.calls, n: fault.n, forEver: fault.forEver, code: fault.code)
        let script = FaultScript(
          path: root + "/db", model: model, transactions: transactions, poisons: poisons, shim: shim,
          fault: fault
        ) { Child.write($0 + "\n", to: descriptor) }
        try script.run()
        Child.write("n \(shim.seen)\n", to: descriptor)
      }
      for line in lines where line.hasPrefix("e") {
        tally[line.split(separator: " ").last.map { "\($0)" } ?? ""] += 1
      }
      let acknowledged = lines.filter { $0.hasPrefix("a") }.count
      _ = try Child.run { _ in
        var model = model
        let store = try Store.open(at: root + "/db", options: .silent)
        _ = try StoreCheck(store, &model, acknowledged: [acknowledged])
        store.close()
      }
    } catch {
      let failure = Failure(wrapping: error)
      throw Failure(failure.kind, "\(failure.text) (\(fault))")
    }
    return lines.last { $0.hasPrefix("n") }?.split(separator: " ").last.flatMap { Int($0) } ?? 0
  }
}
