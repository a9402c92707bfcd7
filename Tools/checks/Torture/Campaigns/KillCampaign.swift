import CRDTCore
import DocStore
import Glibc
import Synchronization
import TestKit

/// A writer that is killed at a random moment, a checker that goes on where it was, and so on.
struct KillCampaign {
  let seed: UInt64
  var defect = Defect.none

  private static let lanes = 4
  /// A store lives through this many deaths, then a new one is made.
  private static let deathsPerStore = 100

  func run(cycles: Int) throws -> Tally {
    try Scratch.with { scratch in
      let peers = try PeerDocuments.make(in: scratch)
      var random = SeededGenerator(seed: seed)
      var tally = Tally()
      var left = cycles
      while left > 0 {
        let path = scratch.file("db-\(left)")
        var life = Life(
          model: Model(seed: random.next(), lanes: Self.lanes, peers: peers), path: path, defect: defect)
        for _ in 0..<min(left, Self.deathsPerStore) { try life.cycle(&random, &tally) }
        left -= Self.deathsPerStore
        for name in Files.names(in: scratch.path) where name.hasPrefix("db-") {
          Files.removeTree(scratch.file(name))
        }
      }
      return tally
    }
  }

  /// One store through many deaths.
  private struct Life {
    var model: Model
    let fresh: Model
    let path: String
    let defect: Defect
    var acknowledged: [Int]
    var chores = ChoreLedger()
    /// The last sequence that was acknowledged, and that was found.
    var sequence: UInt64 = 0
    var verified: UInt64 = 0
    var latest: UInt64 = 0
    var site = ""

    init(model: Model, path: String, defect: Defect) {
      self.model = model
      fresh = model
      self.path = path
      self.defect = defect
      acknowledged = model.lanes.map { _ in 0 }
    }

    mutating func cycle(_ random: inout SeededGenerator, _ tally: inout Tally) throws {
      let life = self
      let seed = random.next()
      let child = try Child.start { try life.live(seed, reportingTo: $0) }
      // Half of the deaths come after the first acknowledgement, the rest anywhere, also while opening.
      let waitsForWork = random.oneIn(2)
      var deadline = ContinuousClock.now + .microseconds(random.int(below: 6_000))
      var isWorking = false
      var text: [UInt8] = []
      while true {
        let timeout: Duration =
          waitsForWork && !isWorking ? .seconds(60) : deadline - ContinuousClock.now
        guard let more = child.read(timeout: timeout) else { break }
        text += more
        if waitsForWork, !isWorking, more.contains(UInt8(ascii: "a")) {
          isWorking = true
          deadline = ContinuousClock.now + .microseconds(random.int(below: 10_000))
        }
        if ContinuousClock.now >= deadline, isWorking || !waitsForWork { break }
      }
      child.kill()
      // What was written before the end counts, even if it is read after it.
      while let more = child.read() { text += more }
      let ending = child.wait()
      let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
      for line in lines { try note(line, &tally) }
      guard ending == .signal(9) else { throw Failure(.crash, "a writer ended by itself: \(ending)") }
      tally["deaths"] += 1
    }

    /// Takes in one line of a writer's report.
    private mutating func note(_ line: Substring, _ tally: inout Tally) throws {
      let words = line.dropFirst().split(separator: " ")
      func number(_ index: Int) -> UInt64 { index < words.count ? UInt64(words[index]) ?? 0 : 0 }
      switch line.first {
      case "!": throw Failure(parsing: String(line.dropFirst()))
      case "s":
        let found = String(words.first ?? "")
        guard site.isEmpty || site == found else { throw Failure(.lost, "the site is another one") }
        site = found
      case "v":
        let (lane, count) = (Int(number(0)), Int(number(1)))
        if count > acknowledged[lane] { tally["unacknowledged but durable"] += 1 }
        acknowledged[lane] = count
        model.advance(lane, to: count)
      case "o":
        // Every commit bears a later reading than all before it, also across deaths.
        let hasGrown = number(0) > verified
        guard number(0) >= sequence, hasGrown ? number(1) > latest : number(1) == latest else {
          throw Failure(.lost, "the log or the clock is behind what was acknowledged")
        }
        (sequence, verified, latest) = (number(0), number(0), number(1))
        tally["stores verified"] += 1
      case "X", "x":
        chores.note(line.split(separator: " "), acknowledged: acknowledged)
        if line.first == "x", let chore = words.first { tally["of \(chore)"] += 1 }
      case "a":
        acknowledged[Int(number(0))] = Int(number(1))
        sequence = max(sequence, number(2))
        tally["commits acknowledged"] += 1
      default: throw Failure(.harness, "an unknown line: \(line)")
      }
    }

    /// What the child does: verifies what is there, then writes until it is killed.
    private func live(_ seed: UInt64, reportingTo descriptor: Int32) throws {
      var model = model
      let store = try Store.open(at: path, options: .silent)
      let check = try StoreCheck(store, &model, acknowledged: acknowledged)
      var report = "s \(store.site)\n"
      for lane in model.lanes { report += "v \(lane.number) \(lane.count)\n" }
      report += "o \(check.sequence) \(check.latest.rawValue)\n"
      Child.write(report, to: descriptor)
      try chores.check(store)
      try chores.checkBackup(of: store, fresh)
      ChoreLedger.leaveBackup(of: path) { Child.write($0 + "\n", to: descriptor) }
      try Model.prepare(store)
      let failures = Mutex<String?>(nil)
      let defect = defect
      let others = try LaneThread {
        var random = SeededGenerator(seed: seed)
        var chores = Chores(
          store: store, report: { Child.write($0 + "\n", to: descriptor) }, random: random)
        do {
          while true {
            usleep(UInt32(random.int(below: 4_000)))
            try chores.performAny()
          }
        } catch {
          failures.withLock { $0 = $0 ?? "\(Failure(wrapping: error))" }
        }
      }
      let threads = try model.lanes.map { lane in
        try LaneThread {
          var runner = LaneRunner(lane: lane, store: store, defect: defect) { lane, count, receipt in
            Child.write("a \(lane) \(count) \(receipt.sequence)\n", to: descriptor)
          }
          do {
            while true { try runner.step() }
          } catch {
            failures.withLock { $0 = $0 ?? "\(Failure(wrapping: error))" }
          }
        }
      }
      for thread in threads + [others] { thread.join() }
      throw Failure(parsing: failures.withLock { $0 } ?? "the lanes ended")
    }
  }
}
