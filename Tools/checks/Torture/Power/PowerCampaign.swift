import CRDTCore
import DocStore
import Glibc
import TestKit

/// Records everything a store writes from its creation on, and opens what a power failure may leave of it.
struct PowerCampaign {
  let seed: UInt64
  var ignoresSyncs = false
  var missesGatheredWrites = false

  private static let lanes = 3
  private static let transactions = 14
  private static let chores: [Chores.Kind] = [.create, .create, .collect, .backup, .compact, .drop, .create]
  private static let statesPerRecording = 250

  func run(states: Int) throws -> Tally {
    let shim = try Shim()
    return try Scratch.with { scratch in
      let peers = try PeerDocuments.make(in: scratch)
      var tally = Tally()
      var left = states
      var random = SeededGenerator(seed: seed)
      while left > 0 {
        let model = Model(seed: random.next(), lanes: Self.lanes, peers: peers)
        let events = try record(model, shim, in: scratch)
        tally["recordings"] += 1
        tally["events"] += events.count
        let count = min(left, Self.statesPerRecording)
        try replay(events, model, count, shim, in: scratch, &random, &tally)
        left -= count
      }
      return tally
    }
  }

  // MARK: - Recording

  private func record(_ model: Model, _ shim: Shim, in scratch: Scratch) throws -> [RecordedEvent] {
    let root = scratch.file("recorded")
    Files.removeTree(root)
    mkdir(root, 0o700)
    let path = scratch.file("log")
    _ = try Child.run { _ in
      let log = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
      shim.watch(root)
      shim.record(to: log, ignoringSyncs: ignoresSyncs)
      try work(model, at: root + "/db", shim)
      shim.stopRecording()
    }
    var events = try RecordedEvent.parse(try Files.read(path))
    if missesGatheredWrites {
      events.removeAll { event in
        if case .write(_, _, _, _, let isGathered) = event { isGathered } else { false }
      }
    }
    var disk = SimulatedDisk(root: root)
    for event in events { disk.apply(event) }
    guard try disk.matchesReality() else {
      throw Failure(.harness, "the log does not give the files that were written")
    }
    return events
  }

  /// A few lanes at once, from an empty directory to the closing.
  private func work(_ model: Model, at path: String, _ shim: Shim) throws {
    let store = try Store.open(at: path, options: .silent)
    shim.note("s \(store.site)")
    try Model.prepare(store)
    let note = UncheckedShim(shim: shim)
    let threads = try model.lanes.map { lane in
      try LaneThread {
        var runner = LaneRunner(lane: lane, store: store, defect: .none) { lane, count, _ in
          note.shim.note("a \(lane) \(count)")
        }
        do {
          for _ in 0..<Self.transactions { try runner.step() }
        } catch {
          Child.write("a lane failed: \(error)\n", to: STDERR_FILENO)
          _exit(2)
        }
      }
    }
    var chores = Chores(store: store, report: { note.shim.note($0) }, random: SeededGenerator(seed: seed))
    for kind in Self.chores { try chores.perform(kind) }
    for thread in threads { thread.join() }
    // Once more when nobody is in the way.
    for kind in Self.chores.shuffled(using: &chores.random) { try chores.perform(kind) }
    store.close()
  }

  // SAFETY: the functions of the shim may be called from any thread.
  private struct UncheckedShim: @unchecked Sendable {
    let shim: Shim
  }

  // MARK: - Replaying

  private func replay(
    _ events: [RecordedEvent], _ model: Model, _ states: Int, _ shim: Shim, in scratch: Scratch,
    _ random: inout SeededGenerator, _ tally: inout Tally
  ) throws {
    let target = scratch.file("state")
    var disk = SimulatedDisk(root: scratch.file("recorded"))
    var model = model
    var promises = Promises(model)
    let creation = events.firstIndex { if case .note = $0 { true } else { false } } ?? 0
    var moments = (0..<states).map { _ in
      // What has no syncs has to be caught on a store that stands, too.
      if ignoresSyncs { return creation + random.int(below: events.count - creation + 1) }
      return random.oneIn(8) ? random.int(below: creation + 1) : random.int(below: events.count + 1)
    }
    moments.sort()
    for (index, event) in events.enumerated() {
      while moments.first == index {
        moments.removeFirst()
        var state = disk
        if random.oneIn(2) { state.apply(event, isCutShort: true) }
        try check(state, at: target, model, promises, index, shim, &random, &tally)
      }
      disk.apply(event)
      if case .note(let line) = event { promises.note(line, &model) }
    }
    for _ in moments { try check(disk, at: target, model, promises, events.count, shim, &random, &tally) }
  }

  private func check(
    _ state: SimulatedDisk, at target: String, _ model: Model, _ promises: Promises, _ moment: Int,
    _ shim: Shim, _ random: inout SeededGenerator, _ tally: inout Tally
  ) throws {
    try state.realize(at: target, shim, &random)
    tally["states"] += 1
    if promises.site == nil { tally["inside creation"] += 1 }
    tally["unsynced writes"] += state.unsyncedWrites
    do {
      _ = try Child.run { _ in
        shim.watch(target)
        try promises.verify(target + "/db", model)
      }
    } catch {
      let failure = Failure(wrapping: error)
      throw Failure(failure.kind, "\(failure.text), after event \(moment) (seed \(seed))")
    }
  }

  /// What had been acknowledged at some moment.
  private struct Promises {
    var site: String?
    var acknowledged: [Int]
    let fresh: Model
    var chores = ChoreLedger()

    init(_ fresh: Model) {
      self.fresh = fresh
      acknowledged = fresh.lanes.map { _ in 0 }
    }

    mutating func note(_ line: String, _ model: inout Model) {
      let words = line.split(separator: " ")
      if words.first?.lowercased() == "x" { chores.note(words, acknowledged: acknowledged) }
      if words.first == "s", words.count == 2 { site = String(words[1]) }
      if words.first == "a", words.count == 3, let lane = Int(words[1]), let count = Int(words[2]) {
        acknowledged[lane] = count
        model.advance(lane, to: count)
      }
    }

    /// Opens a state, compares all of it, and goes on writing.
    func verify(_ path: String, _ model: Model) throws {
      var model = model
      let store = try Store.open(at: path, options: .silent)
      if let site, site != store.site.description { throw Failure(.lost, "the site is another one") }
      let check = try StoreCheck(store, &model, acknowledged: acknowledged)
      try chores.check(store)
      try chores.checkBackup(of: store, fresh)
      try Model.prepare(store)
      for lane in model.lanes {
        var runner = LaneRunner(lane: lane, store: store, defect: .none) { _, _, _ in }
        try runner.step()
        model.advance(lane.number, to: lane.count + 1)
      }
      let after = try StoreCheck(store, &model, acknowledged: model.lanes.map(\.count))
      guard after.sequence > check.sequence, after.latest > check.latest else {
        throw Failure(.lost, "the log or the clock does not go on")
      }
      store.close()
    }
  }
}
