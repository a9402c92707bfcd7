package import CRDTCore
package import TestKit

/// Random values of every type, and replicas whose histories have met them.
package struct RandomDocument {
  package var generator: SeededGenerator

  package static let kinds = 11
  /// Two of them are one text to Swift's `==`.
  private static let keys: [TextKey] = [
    "a", "b", "e\u{301}", "", "\u{0}", "n\u{0}l", "\u{E9}", "e\u{301}x", "名前", "_x", "longer key than most",
  ]

  package init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  package mutating func key() -> TextKey { generator.pick(Self.keys) }

  /// A value of one kind: 0 to 9 are scalars and containers, 10 is a counter.
  package mutating func value(kind: Int, depth: Int = 0) -> Value {
    switch kind {
    case 0: return .null
    case 1: return .bool(generator.oneIn(2))
    case 2: return .int(generator.pick([0, 1, -1, .max, .min, 1 << 55, -(1 << 55), (1 << 55) - 1, 1_000]))
    case 3:
      return .double(
        generator.pick([0, -0.0, 1.5, 0.1, .nan, .infinity, -.infinity, .greatestFiniteMagnitude]))
    case 4:
      return .string(
        generator.pick(["", "short", "sixby7", "seven b", "é\u{0}", String(repeating: "x", count: 300)]))
    case 5: return .bytes(generator.bytes(below: 12))
    case 6:
      return .array(
        (0..<generator.int(below: 4)).map { _ in value(kind: generator.int(below: 6), depth: depth + 1) })
    case 7, 8:
      var fields: [TextKey: Value] = [:]
      for _ in 0..<generator.int(below: 4) { fields[key()] = any(depth: depth + 1) }
      return .map(fields)
    case 9:
      let metadata: [TextKey: TextKey] = generator.oneIn(2) ? ["name": "é.png", "": "x"] : [:]
      return .attachment(
        AttachmentToken(id: generator.bytes(below: 33), byteCount: generator.next(), metadata: metadata))
    default: return .counter(generator.pick([0, 5, -5, .max, .min]))
    }
  }

  package mutating func any(depth: Int = 0) -> Value {
    value(kind: generator.int(below: depth < 3 ? Self.kinds : 6), depth: depth)
  }

  package mutating func fields() -> [TextKey: Value] {
    var fields: [TextKey: Value] = [:]
    for _ in 0..<(1 + generator.int(below: 6)) { fields[key()] = any() }
    return fields
  }

  package mutating func edit() -> Edit {
    let path = generator.oneIn(3) ? [key(), key()] : [key()]
    return switch generator.int(below: 6) {
    case 0: .remove(path)
    case 1: .increment(path, generator.pick([1, -1, .max, .min]))
    case 2: .restart(path, 3)
    case 3: .replace(path, any())
    default: .set(path, any())
    }
  }

  /// Changes a replica in one random way; edits that are refused change nothing.
  package mutating func change(_ peer: inout Peer, now: UInt64) {
    switch generator.int(below: 10) {
    case 0: _ = try? peer.remove(now: now)
    case 1, 2: _ = try? peer.upsert(fields(), now: now)
    case 3: _ = try? peer.upsert(fields(), .insertDefaultIfAbsent, now: now)
    case 4: _ = try? peer.upsert(fields(), .updateDifferentValues, now: now)
    default: _ = try? peer.update((0..<(1 + generator.int(below: 3))).map { _ in edit() }, now: now)
    }
  }

  /// Replicas that share some history and then went apart.
  package mutating func replicas(_ count: Int) throws -> [Peer] {
    var peers = (1...count).map { Peer($0) }
    var now: UInt64 = 1_000
    for _ in 0..<(4 + generator.int(below: 14)) {
      now += UInt64(generator.int(below: 50))
      let index = generator.int(below: count)
      change(&peers[index], now: now)
      if generator.oneIn(3) { try peers[generator.int(below: count)].pull(peers[index]) }
    }
    for index in peers.indices where peers[index].document == nil {
      try peers[index].upsert(fields(), now: now)
    }
    return peers
  }
}
