import CRDTCore
import TestKit

/// A random history of one document that is erased now and then, at peers some of which are away for long.
///
/// `Tools/models/erase_model.py` is the model of the rule. Here the codec's bytes are searched: what was
/// written at or below an erasure must not be in the record of any peer that knows the erasure.
package struct EraseHistory {
  package enum Control: Sendable {
    case none
    /// An erasure is an ordinary deletion.
    case deletionOnly
    /// Compacted tombstones forget the floor.
    case certificateForgets
    /// The eviction of a living document forgets its floor.
    case evictionForgets
  }

  private struct Write {
    let text: [UInt8]
    let stamp: Stamp
  }

  private static let names: [TextKey] = ["a", "b", "c"]
  private let control: Control
  private var random: SeededGenerator
  private var peers: [Peer] = []
  private var writes: [Write] = []
  private var erasures: [Stamp] = []
  /// The latest erasure that each peer knew.
  private var known: [Stamp] = []
  /// Documents on their way: late, doubled, in any order.
  private var messages: [(to: Int, wire: [UInt8])] = []
  private var away: [UInt64]
  private var now: UInt64 = 1_000

  private init(seed: UInt64, _ control: Control) {
    random = SeededGenerator(seed: seed)
    self.control = control
    peers = (0..<4).map { Peer($0) }
    known = peers.map { _ in Stamp(reading: .zero, site: .zero) }
    away = peers.map { _ in 0 }
  }

  /// Runs one history.
  ///
  /// - Returns: What is wrong; `nil` if nothing is.
  package static func fault(seed: UInt64, _ control: Control = .none) throws -> String? {
    var history = EraseHistory(seed: seed, control)
    return try history.run()
  }

  private mutating func run() throws -> String? {
    for step in 0..<(8 + random.int(below: 50)) {
      now += UInt64(random.int(below: 4))
      let index = random.int(below: peers.count)
      try self.step(step, index)
      if let fault = try check() { return "\(fault) after step \(step)" }
    }
    for _ in 0...peers.count {
      for to in peers.indices {
        for from in peers.indices where from != to {
          if !(try peers[from].wire().isEmpty) { try take(peers[from].wire(), at: to) }
        }
      }
      if let fault = try check() { return "\(fault) at the end" }
    }
    let last = erasures.max() ?? Stamp(reading: .zero, site: .zero)
    for write in writes where write.stamp <= last {
      if peers.contains(where: { $0.holds(write.text) }) { return "erased content exists" }
    }
    let fields = try peers.map { try $0.fields }
    return fields.contains { $0 != fields[0] } ? "diverged" : nil
  }

  private mutating func step(_ step: Int, _ index: Int) throws {
    let clock = now + UInt64(index) * 3
    switch random.int(below: 20) {
    case 0..<5:
      let text = "s\(step)p\(index)"
      if try peers[index].upsert([random.pick(Self.names): .string(text)], now: clock) {
        try note(text, index)
      }
    case 5..<8:
      let text = "u\(step)p\(index)"
      let path: [TextKey] = random.oneIn(3) ? ["m", random.pick(Self.names)] : [random.pick(Self.names)]
      if try peers[index].update([.set(path, .string(text))], now: clock) { try note(text, index) }
    case 8: try peers[index].remove(now: clock)
    case 9, 10:
      if control == .deletionOnly {
        guard try peers[index].remove(now: clock) else { break }
        erasures.append(Stamp(reading: try peers[index].vector.latest, site: peers[index].site))
      } else {
        try peers[index].erase(now: clock)
        erasures.append(try peers[index].floor)
      }
    case 11:
      if control == .evictionForgets, peers[index].isAlive {
        peers[index].evict()
      } else {
        try peers[index].evictKeepingFloor()
      }
    case 12:
      guard !peers[index].isAlive else { break }
      let outcome = try peers[index].collect(before: ClockReading(milliseconds: now + 100))
      if control == .certificateForgets, outcome != .unchanged { try peers[index].dropFloor() }
    case 13: away[index] = now + 20
    default:
      let other = random.int(below: peers.count)
      guard other != index, away[index] <= now, away[other] <= now else { break }
      let wire = try peers[other].wire()
      if !wire.isEmpty { messages.append((index, wire)) }
      for place in messages.indices.reversed() where random.oneIn(2) {
        let message = messages[place]
        try take(message.wire, at: message.to)
        if !random.oneIn(3) { messages.remove(at: place) }
      }
    }
  }

  private mutating func note(_ text: String, _ index: Int) throws {
    let reading = try peers[index].vector.latest
    writes.append(
      Write(text: Array(text.utf8) + [0x21], stamp: Stamp(reading: reading, site: peers[index].site)))
  }

  private mutating func take(_ wire: [UInt8], at index: Int) throws {
    let vector = try peers[index].vector
    let other = try WireDocument.vectors(wire.span.bytes)
    if peers[index].document != nil, vector == other.vector || !vector.isEmpty, random.oneIn(2) {
      try peers[index].repair(wire)
    } else {
      try peers[index].merge(wire)
    }
  }

  /// - Returns: What is wrong now.
  private mutating func check() throws -> String? {
    for index in peers.indices {
      let floor = try peers[index].floor
      if floor < known[index] { return "peer \(index) forgot an erasure" }
      if let erasure = erasures.filter({ $0 <= floor }).max() { known[index] = max(known[index], erasure) }
      guard peers[index].document == nil || peers[index].verifies else { return "a record is damaged" }
      guard try peers[index].decodedSummary == peers[index].document?.summary else {
        return "a wrong summary"
      }
      for write in writes where write.stamp <= floor && peers[index].holds(write.text) {
        return "peer \(index) holds what is below its floor"
      }
      if try peers[index].isErased,
        try peers[index].vector.elements.contains(where: {
          Stamp(reading: $0.reading, site: $0.writer.site) <= floor
        })
      {
        return "an erased document keeps a version vector"
      }
    }
    return nil
  }
}

extension Peer {
  /// Whether the record has these bytes somewhere.
  fileprivate func holds(_ text: [UInt8]) -> Bool {
    guard let record else { return false }
    let text = text.dropLast()
    return record.bytes.indices.contains { record.bytes[$0...].starts(with: text) && isEnd($0 + text.count) }
  }

  /// Whether a number does not go on here: `s1p2` is not in `s11p2`.
  private func isEnd(_ offset: Int) -> Bool {
    guard let bytes = record?.bytes, offset < bytes.count else { return true }
    return !(48...57).contains(bytes[offset])
  }

  /// Makes a compacted tombstone one of an earlier release.
  fileprivate mutating func dropFloor() throws {
    guard let record else { return }
    let life = try record.withView { view throws(CodecError) in
      try DocumentState(view, own: site, tables: tables).death
    }
    document = DocumentCodec.tombstone(of: life, tables: &tables)
  }
}
