import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

/// Transactions of many alike changes, which go out column by column.
@Suite struct RunTransactionTests {
  private static let query = "SELECT * FROM things"

  /// Two peers at rest that have the same documents, whose ids do not compress.
  private func pair(
    _ count: Int, seed: UInt64 = 1, _ configure: @escaping (inout SessionConfiguration) -> Void = { _ in }
  ) throws -> (TestNetwork, TestPeer, TestPeer, [String]) {
    var random = SeededGenerator(seed: seed)
    let network = TestNetwork(seed: seed)
    network.configure = configure
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b"))
    let digits = Array("0123456789abcdef")
    let ids = (0..<count).map { _ in String((0..<24).map { _ in digits[random.int(below: 16)] }) }
    for (place, id) in ids.enumerated() {
      try a.put(id, ["status": .string("open"), "n": .int(Int64(place)), "views": .counter(0)])
    }
    for peer in [a, b] { try peer.subscribe(Self.query) }
    try network.connect(a, b)
    try network.settle()
    return (network, a, b, ids)
  }

  private func change(
    _ peer: TestPeer, _ ids: some Sequence<String>, _ edits: (Int) throws -> [Edit]
  ) throws {
    try peer.write { transaction in
      for (place, id) in ids.enumerated() {
        try transaction.update(try DocumentID(id), in: "things", try edits(place))
      }
    }
  }

  @Test func `10,000 changes of one field take at most 20 bytes each`() throws {
    let (network, a, b, ids) = try pair(1_000)
    let end = try #require(a.endpoints.first)
    for round in 0..<3 {
      let before = end.sentBytes
      network.clock.advance(by: 60_000)
      try change(a, ids) { [.set(["n"], .int(Int64($0 * 7 + round)))] }
      try network.settle()
      try expectEqual(b.documents(), a.documents())
      expect(end.sentBytes - before <= 20 * ids.count, "\(end.sentBytes - before) bytes in round \(round)")
    }
    #expect(b.endpoints.allSatisfy { $0.session.statistics.transactionsMissingBase == 0 })
  }

  @Test(arguments: 1...16 as ClosedRange<UInt64>)
  func `any changes come out as they were made, together`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let (network, a, b, ids) = try pair(40, seed: seed)
    var marks: [String: Set<String>] = [:]
    var torn: [String] = []
    for peer in [a, b] {
      peer.onCommit = { [unowned peer] _ in
        let here = try peer.documents()
        for (mark, ids) in marks {
          let seen = ids.filter { here[$0]?[mark] != nil }
          if !seen.isEmpty, seen.count < ids.count { torn.append("\(mark) at \(peer.name)") }
        }
      }
    }
    for round in 0..<8 {
      for peer in [a, b] where random.oneIn(2) {
        let chosen = ids.filter { _ in !random.oneIn(4) }
        let mark = "m\(round)\(peer.name)"
        marks[mark] = Set(chosen)
        let kind = random.int(below: 4)
        try change(peer, chosen) { place in
          let step: [Edit] =
            switch kind {
            case 0: [.set(["n"], .int(Int64(place)))]
            case 1: [.increment(["views"], Int64(place))]
            case 2: [.set(["text"], .string("text \(place)")), .set(["deep", "\(place % 2)"], .bool(true))]
            default: [.remove(["status"])]
            }
          return step + [.set([TextKey(mark)], .int(1))]
        }
      }
      try network.run(steps: random.int(below: 6))
    }
    try network.settle()
    #expect(try b.documents() == a.documents())
    #expect(torn.isEmpty, "\(torn.prefix(4))")
    #expect(try network.debts().isEmpty)
    #expect(network.endpoints.allSatisfy { $0.closed == nil })
  }

  @Test func `a run on what was written at the other end too is asked for`() throws {
    let (network, a, b, ids) = try pair(60)
    try change(b, ids.prefix(1)) { _ in [.set(["status"], .string("b"))] }
    try change(a, ids) { [.set(["n"], .int(Int64($0 + 1_000)))] }
    try network.settle()
    #expect(try b.documents() == a.documents())
    #expect(try b.document(ids[0])?["status"] == .string("b"))
    #expect(b.endpoints[0].session.statistics.transactionsMissingBase == 1)
  }

  @Test(arguments: 1...24 as ClosedRange<UInt64>)
  func `a run with any byte changed never traps, and brings no value that nobody wrote`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let (network, a, b, ids) = try pair(24, seed: seed) { $0.compressionLevel = 0 }
    let old = try a.documents()
    var isChanged = false
    network.onSend = { end, bytes in
      guard end.peer === a, !isChanged, FrameType(of: bytes) == .fragment,
        let bounds = try? FrameCodec.bounds(in: bytes.span.bytes, at: 0)
      else { return }
      var payload = Array(bytes[bounds.payload])
      for _ in 0...random.int(below: 2) {
        payload[random.int(below: payload.count)] ^= UInt8(1 + random.int(below: 255))
      }
      end.outbound.removeLast(bytes.count)
      var changed = FrameCodec.frame(.fragment) { $0.write(payload) }
      FrameCodec.number(&changed, as: FrameCodec.number(of: bytes))
      end.outbound += changed
      isChanged = true
    }
    try change(a, ids) { [.set(["n"], .int(Int64($0 + 1_000))), .set(["status"], .string("s\($0 % 3)"))] }
    try network.settle()
    #expect(isChanged)
    let new = try a.documents()
    let here = try b.documents()
    #expect(ids.allSatisfy { here[$0] == old[$0] || here[$0] == new[$0] })
  }
}

extension FrameCodec {
  /// The number that the checksum of a whole frame tells.
  fileprivate static func number(of frame: [UInt8]) -> UInt32 {
    let stored = frame.suffix(4).reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
    return stored ^ checksum(Array(frame.dropLast(4)).span.bytes)
  }
}
