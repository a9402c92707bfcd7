package import CRDTCore
import TestKit

/// What an opening is, for claim and controls.
package enum ForkedOpenings: Sendable {
  case separate
  /// Its readings are those that any other opening at that time has.
  case withoutRandomBits
  /// It goes on as the one before it.
  case none
}

/// One document of one store, which can be copied bit by bit while it is open.
package protocol ForkedReplica: SendableMetatype {
  var site: SiteID { get }
  /// What a reader sees; `nil` for a document that is unknown or deleted.
  var fields: [TextKey: Value]? { get throws }
  var vector: VersionVector { get throws }
  var summary: Summary? { get throws }
  /// The summary of the state that the record holds, told from all of it.
  var decodedSummary: Summary? { get throws }

  /// Opens the store, which may be open, with so much random.
  mutating func open(random: UInt64, now: UInt64) throws
  /// Makes the document, with nothing in it.
  mutating func make(now: UInt64) throws
  /// - Returns: Whether anything changed.
  @discardableResult mutating func update(_ edits: [Edit], now: UInt64) throws -> Bool
  mutating func evict() throws
  /// The canonical wire form of what `base` lacks; empty where the document is unknown.
  func wire(lacking base: VersionVector) throws -> [UInt8]
  /// Merges a document's wire form.
  mutating func take(_ wire: [UInt8], now: UInt64) throws
  /// A copy, which has to be opened: on this machine, or on another one.
  func copied(elsewhere: Bool) throws -> Self
}

extension Peer: ForkedReplica {
  package var summary: Summary? { document?.summary }

  package mutating func make(now: UInt64) throws { try upsert([:], now: now) }

  package func wire(lacking base: VersionVector) throws -> [UInt8] { try wire(lacking: base, by: .shortest) }

  package mutating func take(_ wire: [UInt8], now: UInt64) throws { try merge(wire) }

  package func copied(elsewhere: Bool) -> Peer { self }
}

extension ForkHistory where Replica == Peer {
  /// - Parameters:
  ///   - seed: Of the history.
  ///   - openings: What an opening is.
  ///   - isLong: A document comes to more births than its vector keeps.
  package init(seed: UInt64, _ openings: ForkedOpenings = .separate, isLong: Bool = false) {
    var peers = (1...4).map { Peer($0) }
    // A clock that is ahead, by which its copies go on.
    if seed % 3 == 0 { peers[0].clock = HybridClock(latest: ClockReading(milliseconds: 1_040)) }
    self.init(seed: seed, peers, at: 1_000, openings, isLong: isLong)
  }
}

/// Devices that write, count, evict and sync while their stores are copied bit by bit and restored unnoticed.
///
/// Each opening of a store writes as a writer of its own, so two branches have no writer in common. In the
/// end every device must show the last write of each field, and the sum of all increments, that any device
/// knows.
package struct ForkHistory<Replica: ForkedReplica>: SeededHistory {
  private enum Operation {
    case write(field: Int, value: Int64?, stamp: Stamp)
    case increment(Int64)
  }

  private struct Device {
    var replica: Replica
    var known: Set<Int> = []

    /// What a bit by bit copy holds; it may stand on another machine.
    func copied(elsewhere: Bool) throws -> Device {
      Device(replica: try replica.copied(elsewhere: elsewhere), known: known)
    }
  }

  private let fields: [TextKey] = ["x", "y", "z"]
  private let mostForks = 6

  private let seed: UInt64
  private let openings: ForkedOpenings
  private var generator: SeededGenerator
  private var devices: [Device]
  private var images: [(of: Int, device: Device)] = []
  private var operations: [Operation] = []
  private var forks = 0
  private var openingCount: UInt64 = 0
  private var now: UInt64
  package let stepCount: Int
  package var trace: Trace?

  private let isLong: Bool

  /// - Parameters:
  ///   - seed: Of the history.
  ///   - replicas: The devices' own.
  ///   - now: When it begins, in milliseconds since 1970.
  ///   - openings: What an opening is.
  ///   - isLong: A document comes to more births than its vector keeps.
  package init(
    seed: UInt64, _ replicas: [Replica], at now: UInt64, _ openings: ForkedOpenings = .separate,
    isLong: Bool = false
  ) {
    self.seed = seed
    self.openings = openings
    self.isLong = isLong
    self.now = now
    generator = SeededGenerator(seed: seed)
    stepCount = isLong ? 400 : 10 + generator.int(below: 50)
    devices = replicas.map { Device(replica: $0) }
  }

  package mutating func run(step: Int) throws {
    generator = SeededGenerator(seed: seed, step: step)
    now += UInt64(generator.int(below: 3))
    let index = generator.int(below: devices.count)
    switch generator.int(below: 100) {
    case ..<28: try write(index, operations.isEmpty ? 0 : Int64(operations.count))
    case ..<40: try increment(index)
    case ..<48: try write(index, nil)
    case ..<58: try open(index)
    case ..<66: try copy(index)
    case ..<72:
      trace?.add("an image of \(index) is taken")
      images.append((index, try devices[index].copied(elsewhere: false)))
    case ..<77: try putBack()
    case ..<80:
      trace?.add("\(index) evicts")
      try devices[index].replica.evict()
      devices[index].known = []
    default:
      let from = (index + 1 + generator.int(below: devices.count - 1)) % devices.count
      trace?.add("\(index) pulls from \(from)")
      try pull(index, from)
    }
  }

  // MARK: - Openings and forks

  private mutating func open(_ index: Int) throws {
    switch openings {
    case .separate:
      // A store draws them; here no two openings have the same ones, as they have in one of 32,768 pairs.
      openingCount += 1
      let bits = (generator.next() & ~0x7FFF) | (openingCount &* 0x5A1D & 0x7FFF)
      try devices[index].replica.open(random: bits, now: now)
    case .withoutRandomBits: try devices[index].replica.open(random: 0, now: now)
    case .none: return
    }
    trace?.add("\(index) is opened at \(now)")
  }

  /// A copy joins, while the original runs or before it is opened again.
  private mutating func copy(_ index: Int) throws {
    guard forks < mostForks else { return }
    forks += 1
    trace?.add("\(devices.count) is a copy of \(index)")
    devices.append(try devices[index].copied(elsewhere: generator.oneIn(2)))
    try open(devices.count - 1)
    if generator.oneIn(2) { try open(index) }
  }

  /// An image takes its device's place, perhaps not for the last time.
  private mutating func putBack() throws {
    guard forks < mostForks, !images.isEmpty else { return }
    forks += 1
    let number = generator.int(below: images.count)
    let (index, image) = images[number]
    if generator.oneIn(2) { images.remove(at: number) }
    trace?.add("\(index) is put back")
    devices[index] = try image.copied(elsewhere: false)
    try open(index)
  }

  // MARK: - Writes

  private mutating func note(_ operation: Operation, _ index: Int) {
    devices[index].known.insert(operations.count)
    operations.append(operation)
  }

  private mutating func revive(_ index: Int) throws {
    if try devices[index].replica.fields == nil { try devices[index].replica.make(now: now) }
  }

  private mutating func write(_ index: Int, _ value: Int64?) throws {
    try revive(index)
    let field = generator.int(below: fields.count)
    let key = fields[field]
    trace?.add("\(index) sets \(key) to \(value.map { "\($0)" } ?? "nothing") at \(now)")
    let edit: Edit = value.map { .set([key], .int($0)) } ?? .remove([key])
    guard try devices[index].replica.update([edit], now: now) else { return }
    let replica = devices[index].replica
    let stamp = Stamp(reading: try replica.vector.latest, site: replica.site)
    note(.write(field: field, value: value, stamp: stamp), index)
  }

  private mutating func increment(_ index: Int) throws {
    try revive(index)
    let amount = generator.pick([1, 10, 100] as [Int64])
    trace?.add("\(index) adds \(amount) at \(now)")
    try devices[index].replica.update([.increment(["n"], amount)], now: now)
    note(.increment(amount), index)
  }

  private mutating func pull(_ to: Int, _ from: Int) throws {
    let base = generator.oneIn(3) ? VersionVector() : try devices[to].replica.vector
    let wire = try devices[from].replica.wire(lacking: base)
    if !wire.isEmpty { try devices[to].replica.take(wire, now: now) }
    devices[to].known.formUnion(devices[from].known)
  }

  // MARK: - In the end

  package mutating func finish() throws {
    for _ in 0..<2 {
      for to in devices.indices { for from in devices.indices where from != to { try pull(to, from) } }
    }
    let views = try devices.map { try $0.replica.fields ?? [:] }
    try LawFailure.unless(views.allSatisfy { $0 == views[0] }, "the devices differ: \(views)")
    let summaries = try devices.map { try $0.replica.summary }
    try LawFailure.unless(summaries.allSatisfy { $0 == summaries[0] }, "the summaries differ")
    for device in devices {
      let isRight = try device.replica.decodedSummary == device.replica.summary
      try LawFailure.unless(isRight, "a summary is not the state's")
    }
    // Who still lists superseded writers is no part of the state.
    let wires = try devices.map { try $0.replica.wire(lacking: VersionVector()) }
    try LawFailure.unless(isLong || wires.allSatisfy { $0 == wires[0] }, "the bytes differ")
    let known = devices.reduce(into: Set<Int>()) { $0.formUnion($1.known) }
    var sum: Int64?
    // Two openings of a store may write under one stamp, in a document that is ahead of their clocks.
    var last: [Int: (stamp: Stamp, values: Set<Int64?>)] = [:]
    for number in known {
      switch operations[number] {
      case .increment(let amount): sum = (sum ?? 0) + amount
      case .write(let field, let value, let stamp):
        if last[field]?.stamp == stamp { last[field]?.values.insert(value) }
        if last[field].map({ $0.stamp < stamp }) ?? true { last[field] = (stamp, [value]) }
      }
    }
    let count: Int64? =
      switch views[0]["n"] {
      case .int(let value)?, .counter(let value)?: value
      default: nil
      }
    try LawFailure.unless(count == sum, "the count is \(count ?? 0), not \(sum ?? 0)")
    for (field, key) in fields.enumerated() {
      let values = last[field]?.values ?? [nil]
      try LawFailure.unless(
        values.contains { views[0][key] == $0.map { .int($0) } },
        "\(key) is \(views[0][key].map { "\($0)" } ?? "nothing"), and none of \(values)")
    }
  }
}
