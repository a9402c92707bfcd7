import CRDTCore
import CRDTModel
import TestKit
import Testing

/// Maps that are written as a whole do not mix with what was written in their place apart.
@Suite struct WholeMapTests {
  /// What stands at the path before both write, by its name.
  enum Before: String, CaseIterable {
    case nothing, removed, scalar, map, defaultMap, removedDefault
  }

  private static let street: Value = .map(["street": .string("Quay"), "zip": .int(1)])
  private static let city: Value = .map(["city": .string("Kiel")])

  private func pair(_ before: Before, at path: [TextKey]) throws -> (Peer, Peer) {
    var peer = Peer(1)
    let old = Value.map(["old": .int(0)])
    let isDefault = before == .defaultMap || before == .removedDefault
    let fields = path.dropFirst().reversed().reduce(old) { .map([$1: $0]) }
    try peer.upsert(
      isDefault ? [path[0]: fields] : ["y": .int(0)], isDefault ? .insertDefaultIfAbsent : .merge, now: 1_000)
    switch before {
    case .nothing, .defaultMap: break
    case .removedDefault: try peer.update([.remove(path)], now: 1_001)
    case .scalar: try peer.update([.set(path, .int(7))], now: 1_001)
    case .map: try peer.update([.set(path, old)], now: 1_001)
    case .removed:
      try peer.update([.set(path, old)], now: 1_001)
      try peer.update([.remove(path)], now: 1_002)
    }
    var other = Peer(2)
    try other.pull(peer)
    return (peer, other)
  }

  private func meet(_ a: inout Peer, _ b: inout Peer) throws {
    for _ in 0..<2 {
      try a.pull(b)
      try b.pull(a)
    }
    try #require(try a.wire() == b.wire())
  }

  private func value(of peer: Peer, at path: [TextKey]) throws -> Value? {
    var value = try peer.fields.map(Value.map)
    for key in path {
      guard case .map(let fields)? = value else { return nil }
      value = fields[key]
    }
    return value
  }

  @Test(arguments: Before.allCases, [["place"], ["a", "b", "place"]] as [[TextKey]])
  func `the later of two whole maps stands alone`(before: Before, path: [TextKey]) throws {
    for isALater in [false, true] {
      var (a, b) = try pair(before, at: path)
      try a.update([.replace(path, Self.street)], now: isALater ? 3_000 : 2_000)
      try b.update([.replace(path, Self.city)], now: isALater ? 2_000 : 3_000)
      try meet(&a, &b)
      try expect(
        value(of: a, at: path) == (isALater ? Self.street : Self.city), "\(before), A later: \(isALater)")
    }
  }

  @Test(arguments: Before.allCases)
  func `what was merged in earlier is gone, and what is merged in later joins`(before: Before) throws {
    for isALater in [false, true] {
      var (a, b) = try pair(before, at: ["place"])
      try a.update([.set(["place"], Self.street)], now: isALater ? 3_000 : 2_000)
      try b.update([.replace(["place"], Self.city)], now: isALater ? 2_000 : 3_000)
      try meet(&a, &b)
      let both: Value = .map(["city": .string("Kiel"), "street": .string("Quay"), "zip": .int(1)])
      try expect(
        value(of: a, at: ["place"]) == (isALater ? both : Self.city), "\(before), A later: \(isALater)")
    }
  }

  @Test func `a whole map costs the document its floor, and one without it nothing`() throws {
    var (plain, whole) = (Peer(1), Peer(1))
    try plain.upsert(["place": Self.street], now: 1_000)
    #expect(plain.metadataBytes <= 20)
    try whole.upsert([:], now: 1_000)
    try whole.update([.replace(["place"], Self.street)], now: 1_000)
    #expect(whole.metadataBytes <= 48)
  }
}
