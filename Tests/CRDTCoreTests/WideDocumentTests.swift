import CRDTCore
import CRDTModel
import TestKit
import Testing

/// Many keys at once come to the same as one by one.
@Suite struct WideDocumentTests {
  private static let count = 1_500

  private func keys(_ seed: UInt64) -> [TextKey] {
    var generator = SeededGenerator(seed: seed)
    return (0..<Self.count).map { TextKey("k\($0)") }.shuffled(using: &generator)
  }

  @Test func `one update of many keys is what as many sets are`() throws {
    var one = Peer(1)
    try one.upsert(["m": .map(["k3": .int(-1), "z": .null]), "plain": .int(1)])
    var other = one
    try one.update(keys(1).map { .set(["m", $0], .string($0.text)) } + [.remove(["m", "z"])])
    try other.update([.set(["m"], .map(Dictionary(uniqueKeysWithValues: keys(2).map { ($0, .string($0.text)) })))])
    try other.update([.remove(["m", "z"])])
    #expect(try one.fields == other.fields)
    #expect(try one.fields?["m"]?.count == Self.count)
  }

  @Test func `increments, removals and nested sets of many keys`() throws {
    var peer = Peer(1)
    try peer.upsert([:])
    try peer.update(keys(3).map { .increment([$0, "n"], 2) })
    try peer.update(keys(4).map { .increment([$0, "n"], 1) })
    #expect(try peer.fields?.values.allSatisfy { $0 == .map(["n": .counter(3)]) } == true)
    try peer.update(keys(5).dropFirst().map { .remove([$0]) })
    #expect(try peer.fields?.count == 1)
    // Removed fields are many as well where the record is read again.
    try peer.update(keys(6).map { .set([$0, "x", $0], .bool(true)) })
    #expect(try peer.fields?.count == Self.count)
  }

  @Test func `wide deltas merge in both directions`() throws {
    var (one, two) = (Peer(1), Peer(2))
    try one.upsert(["m": .map(["a": .int(0)])])
    try two.pull(one)
    try one.update(keys(7).map { .set(["m", "one\($0)"], .int(1)) })
    try two.update(keys(8).map { .set(["m", "two\($0)"], .int(2)) })
    try one.pull(two)
    try two.pull(one)
    #expect(try one.fields?["m"]?.count == 2 * Self.count + 1)
    #expect(try one.wire() == two.wire())
    #expect(one.document?.summary == two.document?.summary)
  }

  @Test func `edits whose paths overlap take effect in their order, however many`() throws {
    var peer = Peer(1)
    try peer.upsert(["m": .map(["k1": .map(["deep": .int(1)])])])
    var edits: [Edit] = keys(9).map { .set(["m", $0], .int(1)) }
    edits.append(.remove(["m"]))
    edits += keys(10).map { .set(["m", $0], .int(2)) }
    edits.append(.replace(["m", "k1"], .map(["only": .null])))
    try peer.update(edits)
    let map = try #require(try peer.fields?["m"])
    #expect(map.count == Self.count)
    guard case .map(let fields) = map else { return }
    #expect(fields["k1"] == .map(["only": .null]))
    #expect(fields["k2"] == .int(2))
  }
}

extension Value {
  fileprivate var count: Int? { if case .map(let fields) = self { fields.count } else { nil } }
}
