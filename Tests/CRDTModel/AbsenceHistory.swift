import CRDTCore
import TestKit

/// How long a kind of peer remembers a deletion.
package struct DeletionMemory: Sendable {
  /// Milliseconds for which a tombstone stays.
  var tombstone: UInt64
  /// Milliseconds for which a death certificate stays; `nil` for ever.
  var certificate: UInt64?

  private static let day: UInt64 = 86_400_000
  static let year = 365 * day
  static let smallPeer = DeletionMemory(tombstone: 7 * day, certificate: year)
  static let bigPeer = DeletionMemory(tombstone: 30 * day, certificate: nil)
  static let noCertificate = DeletionMemory(tombstone: 7 * day, certificate: 0)
}

/// A device that is away for an hour to ten years, while others delete what it holds, and comes back.
package struct AbsenceHistory: SeededHistory {
  package enum Setting: Sendable {
    /// Absences within a certificate's lifetime, or of any length where a big peer is among the others.
    case remembered
    /// No peer keeps certificates: the control.
    case withoutCertificates
    /// Absences longer than all certificates, and no big peer: what is deleted comes back.
    case forgotten
  }

  private struct Replica {
    var peer: Peer
    var memory: DeletionMemory
    /// The greatest stamp of a deletion that was ever known here.
    var death: Stamp?
    var hasForgotten = false
  }

  private static let hour: UInt64 = 3_600_000
  private static let device = 0

  private let seed: UInt64
  private var generator: SeededGenerator
  private var replicas: [Replica]
  private var now: UInt64 = 1_700_000_000_000
  private let slice: UInt64
  private let writesOffline: Bool
  package let stepCount = 36
  package var trace: Trace?

  package init(seed: UInt64, _ setting: Setting = .remembered) {
    self.seed = seed
    var generator = SeededGenerator(seed: seed)
    let hasBigPeer = setting == .remembered && generator.oneIn(2)
    let longest = hasBigPeer ? 10 * DeletionMemory.year : DeletionMemory.year * 8 / 10
    // Evenly over the magnitudes between an hour and the longest absence.
    var absence = Self.hour
    while absence * 2 < longest, !generator.oneIn(12) { absence *= 2 }
    if setting == .forgotten { absence = 2 * DeletionMemory.year }
    slice = absence / 20
    writesOffline = generator.oneIn(2)
    let memory = setting == .withoutCertificates ? DeletionMemory.noCertificate : .smallPeer
    self.generator = generator
    replicas = (1...4).map { Replica(peer: Peer($0), memory: memory) }
    if hasBigPeer { replicas.append(Replica(peer: Peer(5), memory: .bigPeer)) }
  }

  package mutating func run(step: Int) throws {
    generator = SeededGenerator(seed: seed, step: step)
    switch step {
    case ..<6:
      now += Self.hour / 60
      try write(generator.int(below: replicas.count), step)
      try syncAll()
    case ..<26: try beAway(step)
    default:
      now += Self.hour / 10
      try sync(generator.int(below: replicas.count), Self.device)
      try sync(generator.int(below: replicas.count), generator.int(below: replicas.count))
      try maintain()
    }
    try check()
  }

  private mutating func beAway(_ step: Int) throws {
    now += slice / 2 + UInt64(generator.int(below: Int(slice)))
    if writesOffline, generator.oneIn(4) {
      trace?.add("the device writes, away, at \(now)")
      try replicas[Self.device].peer.update([.set(["offline"], .int(Int64(step)))], now: now)
    }
    let index = 1 + generator.int(below: replicas.count - 1)
    if generator.oneIn(3) {
      trace?.add("\(index) deletes at \(now)")
      try replicas[index].peer.remove(now: now)
    } else {
      try write(index, step)
    }
    // Those who stayed meet often.
    for to in 1..<replicas.count { for from in 1..<to { try sync(to, from) } }
    try maintain()
  }

  private mutating func write(_ index: Int, _ step: Int) throws {
    let fields: [TextKey: Value] = ["f\(step % 3)": .int(Int64(step))]
    switch generator.int(below: 6) {
    case 0 where step < 6 || replicas[index].peer.isAlive || replicas[index].peer.document != nil:
      trace?.add("\(index) upserts at \(now)")
      try replicas[index].peer.upsert(fields, now: now)
    case 1, 2: try replicas[index].peer.update(fields.map { .set([$0.key], $0.value) }, now: now)
    default:
      if step == 0 { try replicas[index].peer.upsert(fields, now: now) }
    }
  }

  private mutating func syncAll() throws {
    for _ in 0..<2 { for to in replicas.indices { for from in 0..<to { try sync(to, from) } } }
  }

  private mutating func sync(_ a: Int, _ b: Int) throws {
    guard a != b else { return }
    for (to, from) in [(a, b), (b, a)] {
      let before = replicas[to].peer.isAlive
      try replicas[to].peer.pull(replicas[from].peer)
      if before != replicas[to].peer.isAlive { trace?.add("\(to) learns from \(from): \(!before)") }
      try note(to)
    }
    guard replicas[a].peer.document != nil, replicas[b].peer.document != nil,
      try replicas[a].peer.vector == replicas[b].peer.vector,
      replicas[a].peer.document?.summary != replicas[b].peer.document?.summary
    else { return }
    let (here, there) = (try replicas[a].peer.wire(), try replicas[b].peer.wire())
    try replicas[a].peer.repair(there)
    try replicas[b].peer.repair(here)
  }

  /// The life of what a replica holds.
  private func life(_ index: Int) throws -> Stamp? {
    let peer = replicas[index].peer
    return try peer.record?.withView { view throws(CodecError) in
      try DocumentState(view, own: peer.site, tables: peer.tables).death
    }
  }

  private mutating func note(_ index: Int) throws {
    guard let life = try life(index), !replicas[index].peer.isAlive else { return }
    replicas[index].death = max(replicas[index].death ?? .zero, life)
  }

  /// Collects at every replica what its lifetimes allow.
  private mutating func maintain() throws {
    for index in replicas.indices {
      try note(index)
      let memory = replicas[index].memory
      let latest = try replicas[index].peer.vector.latest
      let horizon = ClockReading(milliseconds: now - memory.tombstone)
      let outcome = try replicas[index].peer.collect(before: horizon)
      if case .certified(let hasLaterWrites) = outcome {
        let death = try life(index)?.reading ?? .zero
        try LawFailure.unless(hasLaterWrites == (latest > death), "what goes with a tombstone is reported")
        trace?.add("\(index) keeps a certificate only")
      }
      guard let lifetime = memory.certificate, !replicas[index].peer.isAlive,
        let life = try life(index), try replicas[index].peer.vector.isEmpty,
        life.reading < ClockReading(milliseconds: now - lifetime)
      else { continue }
      trace?.add("\(index) forgets the deletion")
      replicas[index].peer.evict()
      replicas[index].hasForgotten = true
    }
  }

  /// Whoever remembers a deletion must not see what is older than it alive.
  private func check() throws {
    for index in replicas.indices where replicas[index].peer.isAlive && !replicas[index].hasForgotten {
      guard let death = replicas[index].death, let life = try life(index), life < death else { continue }
      throw LawFailure("a document came back at replica \(index), which had not forgotten")
    }
  }

  package mutating func finish() throws {
    for _ in 0..<3 { try syncAll() }
    let views = try replicas.map { try $0.peer.fields }
    guard views.allSatisfy({ $0 == views[0] }) else { throw LawFailure("replicas diverged") }
    guard replicas[0].peer.isAlive, let life = try life(0) else { return }
    if let death = replicas.compactMap(\.death).max(), life < death {
      throw LawFailure("a deleted document came back")
    }
  }
}
