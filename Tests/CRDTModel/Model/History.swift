import CRDTCore
import TestKit

/// One random history of a document at a few replicas: the model always, the real codec on request.
///
/// Replicas write, delete, count, evict and pull; messages come late, twice or out of order. In the end
/// one has pulled from all, and all from it.
package struct History: SeededHistory {
  package enum Failure: Error, Equatable {
    /// The real document differs from the model, after which step.
    case differs(step: Int, what: String)
    case diverged
    case differsFromLog
  }

  private struct Message {
    var model: ModelDocument
    var base: [ModelWriter: UInt64]
    var wire: [UInt8]
  }

  private struct Replica {
    var model: ModelDocument
    var peer: Peer
    var clock = HybridClock()
    /// What is on its way to here.
    var inbox: [Message] = []
  }

  package let seed: UInt64
  private let isReal: Bool
  private var generator: SeededGenerator
  private var replicas: [Replica]
  private var operations = OperationLog()
  private var now: UInt64 = 10
  package let stepCount: Int
  private var steps = 0
  package var trace: Trace?

  package init(seed: UInt64, controls: ModelControls = [], isReal: Bool = true) {
    self.seed = seed
    self.isReal = isReal
    generator = SeededGenerator(seed: seed)
    let count = 2 + generator.int(below: 3)
    replicas = (0..<count).map { Replica(model: ModelDocument(controls), peer: Peer($0)) }
    stepCount = 5 + generator.int(below: 18)
  }

  package mutating func run(step: Int) throws {
    generator = SeededGenerator(seed: seed, step: step)
    steps = step
    now += UInt64(generator.int(below: 4))
    try self.step(generator.int(below: replicas.count))
  }

  package mutating func finish() throws {
    for from in replicas.indices.dropFirst() { try pull(0, from, isWhole: false) }
    for to in replicas.indices.dropFirst() { try pull(to, 0, isWhole: false) }
    try checkConvergence()
  }

  private func checkConvergence() throws {
    let views = replicas.map(\.model.visible)
    guard views.allSatisfy({ $0 == views[0] }) else { throw Failure.diverged }
    var known = OperationSet()
    for replica in replicas { known.formUnion(replica.model.log) }
    guard views[0] == operations.fold(known) else { throw Failure.differsFromLog }
    guard isReal else { return }
    let wires = try replicas.map { try $0.peer.wire() }
    guard wires.allSatisfy({ $0 == wires[0] }) else {
      throw Failure.differs(step: steps, what: "wire bytes in the end")
    }
    let summaries = replicas.map { $0.peer.document?.summary }
    guard summaries.allSatisfy({ $0 == summaries[0] }) else {
      throw Failure.differs(step: steps, what: "summaries in the end")
    }
  }

  private mutating func step(_ index: Int) throws {
    switch generator.int(below: 100) {
    case ..<14: try upsert(index, .merge)
    case ..<18: try upsert(index, .updateDifferentValues)
    case ..<20: try upsert(index, .insertIfAbsent)
    case ..<25: try upsert(index, .insertDefaultIfAbsent)
    case ..<52: try update(index)
    case ..<57: try delete(index)
    case ..<62:
      trace?.add("\(index) evicts")
      evict(index)
    case ..<74:
      let from = other(than: index)
      trace?.add("\(index) pulls from \(from)")
      try pull(index, from, isWhole: generator.oneIn(4))
    case ..<86: try send(to: index, from: other(than: index))
    default: try receive(index)
    }
    try check(index)
  }

  /// As a store does, its clock goes on from what it wrote above it, so that no two writes have one name.
  private mutating func evict(_ index: Int) {
    let own = replicas[index].model.vector.filter { $0.key.site == index }.map(\.value).max()
    if let own { _ = replicas[index].clock.goOn(from: ClockReading(rawValue: own), now: now) }
    replicas[index].model.evict()
    replicas[index].peer.evict()
  }

  private mutating func other(than index: Int) -> Int {
    (index + 1 + generator.int(below: replicas.count - 1)) % replicas.count
  }

  private func check(_ index: Int) throws {
    guard isReal else { return }
    let replica = replicas[index]
    guard try replica.peer.fields == replica.model.visible else {
      throw Failure.differs(step: steps, what: "fields of replica \(index)")
    }
    let elements = try replica.peer.vector.elements
    let isEqual = elements.allSatisfy { element in
      let site = Int(truncatingIfNeeded: element.writer.site.low)
      let writer = ModelWriter(site: site, birth: element.writer.birth.rawValue)
      return replica.model.vector[writer] == element.reading.rawValue
    }
    guard isEqual, elements.count == replica.model.vector.count else {
      throw Failure.differs(step: steps, what: "vector of replica \(index)")
    }
  }

  // MARK: - Local writes

  private mutating func tick(_ index: Int) -> (reading: UInt64, stamping: Stamping) {
    let skewed = Int(now) + generator.pick([0, 0, 0, -8, 6])
    let reading = replicas[index].clock.tick(now: UInt64(max(skewed, 0)))
    return (reading.rawValue, Stamping(site: replicas[index].peer.site, reading: reading))
  }

  private mutating func content() -> ModelContent {
    switch generator.int(below: 10) {
    case 0: .map
    case 8, 9: .counter(Int64(generator.int(below: 4)))
    case 1, 2, 3: .int(Int64(generator.int(below: 300)) - 100)
    default: .text(generator.int(below: 10))
    }
  }

  private mutating func sets() -> [(path: Int, content: ModelContent)] {
    var sets: [(path: Int, content: ModelContent)] = []
    for _ in 0..<(1 + generator.int(below: 3)) {
      let path = generator.int(below: ModelPath.count)
      if !sets.contains(where: { ModelPath.overlap($0.path, path) }) { sets.append((path, content())) }
    }
    return sets
  }

  private static func fields(_ sets: [(path: Int, content: ModelContent)]) -> [TextKey: Value] {
    var root = Value.map([:])
    for (path, content) in sets {
      root = inserting(content.value(adding: 0) ?? .null, at: ModelPath.names[path][...], in: root)
    }
    guard case .map(let fields) = root else { return [:] }
    return fields
  }

  private static func inserting(_ value: Value, at path: ArraySlice<TextKey>, in old: Value?) -> Value {
    guard let key = path.first else { return value }
    var fields: [TextKey: Value] = if case .map(let fields)? = old { fields } else { [:] }
    fields[key] = inserting(value, at: path.dropFirst(), in: fields[key])
    return .map(fields)
  }

  private mutating func upsert(_ index: Int, _ strategy: WriteStrategy) throws {
    let sets = sets()
    let (reading, stamping) = tick(index)
    trace?.add("\(index) upserts \(strategy) \(Self.fields(sets)) at \(reading)")
    let isAlive = replicas[index].model.isAlive
    var isRefused = false
    do throws(ModelRefusal) {
      try upsertModel(index, sets, strategy, isAlive, reading)
    } catch {
      isRefused = true
    }
    try write(isRefused, { try $0.upsert(Self.fields(sets), strategy, stamping) }, at: index)
  }

  /// Does at the replica what was done at the model: both must refuse it, or neither.
  private mutating func write(
    _ isRefused: Bool, _ body: (inout Peer) throws -> Void, at index: Int
  ) throws {
    guard isReal else { return }
    do {
      try body(&replicas[index].peer)
    } catch let error as DocumentError where error.code == .notACounter || error.code == .isACounter {
      guard isRefused else { throw Failure.differs(step: steps, what: "a write is refused") }
      return
    }
    if isRefused { throw Failure.differs(step: steps, what: "a write is not refused") }
  }

  private mutating func upsertModel(
    _ index: Int, _ sets: [(path: Int, content: ModelContent)], _ strategy: WriteStrategy, _ isAlive: Bool,
    _ reading: UInt64
  ) throws(ModelRefusal) {
    switch strategy {
    case .insertDefaultIfAbsent: replicas[index].model.insertDefault(sets, &operations)
    case .insertIfAbsent where isAlive: return
    case .updateDifferentValues where isAlive:
      try replicas[index].model.updateDifferent(sets, site: index, reading: reading, &operations)
    case .insertIfAbsent, .updateDifferentValues, .merge:
      try replicas[index].model.upsert(sets, site: index, reading: reading, &operations)
    }
  }

  private mutating func edit() -> ModelEdit {
    let path = generator.int(below: ModelPath.count)
    return switch generator.int(below: 20) {
    case ..<7: .set(path, content())
    case ..<9: .replace(path, Int64(generator.int(below: 100)))
    case ..<13: .remove(path)
    case ..<19:
      .increment(generator.oneIn(3) ? path : generator.pick([2, 6]), Int64(generator.int(below: 19)) - 9)
    default: .restart(path, Int64(generator.int(below: 9)))
    }
  }

  private mutating func update(_ index: Int) throws {
    let edits = (0..<(generator.oneIn(4) ? 3 : 1)).map { _ in edit() }
    let (reading, stamping) = tick(index)
    trace?.add("\(index) updates \(edits.map(\.edit)) at \(reading)")
    var isRefused = false
    do throws(ModelRefusal) {
      try replicas[index].model.update(edits, site: index, reading: reading, &operations)
    } catch {
      isRefused = true
    }
    try write(isRefused, { try $0.update(edits.map(\.edit), stamping) }, at: index)
  }

  private mutating func delete(_ index: Int) throws {
    let (reading, stamping) = tick(index)
    trace?.add("\(index) deletes at \(reading)")
    replicas[index].model.delete(site: index, reading: reading, &operations)
    if isReal { try replicas[index].peer.remove(stamping) }
  }

  // MARK: - Messages

  private func message(to: Int, from: Int, isWhole: Bool) throws -> Message? {
    guard replicas[from].model.life != nil else { return nil }
    let base = isWhole ? [:] : replicas[to].model.vector
    let wire =
      isReal
      ? try replicas[from].peer.wire(lacking: isWhole ? VersionVector() : replicas[to].peer.vector) : []
    return Message(model: replicas[from].model, base: base, wire: wire)
  }

  private mutating func pull(_ to: Int, _ from: Int, isWhole: Bool) throws {
    guard let message = try message(to: to, from: from, isWhole: isWhole) else { return }
    try deliver(message, to)
  }

  private mutating func send(to: Int, from: Int) throws {
    guard let message = try message(to: to, from: from, isWhole: generator.oneIn(4)) else { return }
    trace?.add("\(from) sends to \(to)")
    replicas[to].inbox.append(message)
  }

  private mutating func receive(_ index: Int) throws {
    guard !replicas[index].inbox.isEmpty else { return }
    let at = generator.int(below: replicas[index].inbox.count)
    let message = replicas[index].inbox[at]
    trace?.add("\(index) receives what was sent to it as number \(at)")
    if !generator.oneIn(3) { replicas[index].inbox.remove(at: at) }
    try deliver(message, index)
  }

  private mutating func deliver(_ message: Message, _ index: Int) throws {
    let isBased = replicas[index].model.merge(message.model, base: message.base)
    guard isReal else { return }
    let outcome = try replicas[index].peer.merge(message.wire)
    guard outcome.isMissingBase != isBased else { throw Failure.differs(step: steps, what: "a missing base") }
  }
}
