import CRDTCore
import DocStore
import SyncProtocol
import Testing

/// Ranges are compared by counts and sums: few bytes, however much is in sync.
@Suite struct RangeComparisonTests {
  /// Has peers that meet again compare everything.
  private static func compareAnew(_ configuration: inout SessionConfiguration) {
    configuration.tuning.walkedDocuments = 0
  }

  @Test func `one difference among many documents costs little on the wire`() throws {
    let network = TestNetwork()
    network.configure = Self.compareAnew
    let (sender, receiver) = (try network.addPeer("sender"), try network.addPeer("receiver"))
    func id(_ number: Int) throws -> DocumentID {
      // 24 letters, spread like random ones.
      let word = String(UInt64(number) &* 0x9E37_79B9_7F4A_7C15 | 1 << 63, radix: 16)
      return try DocumentID(word + "12345678")
    }
    try sender.write { transaction in
      for number in 0..<10_000 { try transaction.upsert(["n": .int(1)], id: id(number), into: "things") }
    }
    try receiver.subscribe("SELECT * FROM things")
    let (_, first) = try network.connect(sender, receiver)
    try network.settle()
    network.cut(first)
    try sender.write { try $0.update(id(4_321), in: "things", [.set(["n"], .int(2))]) }
    var bytes: [FrameKind: Int] = [:]
    network.onSend = { _, frame in
      guard let bounds = try? FrameCodec.bounds(in: frame.span.bytes, at: 0) else { return }
      bytes[FrameKind(bounds.type), default: 0] += frame.count
    }
    let (_, second) = try network.connect(sender, receiver)
    try network.settle()
    #expect(second.caughtUp == 1)
    #expect(try sender.documents() == receiver.documents())
    // Three splits of 16 parts, and a listing of at most 32 documents.
    #expect(bytes[.comparison, default: 0] < 3 * (16 * 15 + 50) + 32 * 34)
    #expect(bytes.values.reduce(0, +) < 2_000)
    // Where all differ, a question about each few would take as many bytes as listing them.
    network.cut(second)
    try sender.write { transaction in
      for number in 0..<10_000 { try transaction.update(id(number), in: "things", [.set(["n"], .int(3))]) }
    }
    bytes = [:]
    let (_, third) = try network.connect(sender, receiver)
    try network.settle()
    #expect(third.caughtUp == 1)
    #expect(try sender.documents() == receiver.documents())
    #expect(bytes[.comparison, default: 0] < 10_000 * 40)
  }

  @Test(arguments: [true, false])
  func `documents that all change at both ends in large transactions merge`(byCursors: Bool) throws {
    let network = TestNetwork()
    if !byCursors { network.configure = Self.compareAnew }
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b"))
    let count = 2_000
    func change(_ peer: TestPeer, _ field: String, by step: Int) throws {
      // In another order at each end, so that all transactions hang together.
      for start in stride(from: 0, to: count, by: 250) {
        try peer.write { transaction in
          for number in start..<start + 250 {
            try transaction.update(
              DocumentID("document-\(number * step % count)"), in: "things", [.set([TextKey(field)], .int(2))]
            )
          }
        }
      }
    }
    try a.write { transaction in
      for number in 0..<count {
        try transaction.upsert(["n": .int(1)], id: DocumentID("document-\(number)"), into: "things")
      }
    }
    for peer in [a, b] { try peer.subscribe("SELECT * FROM things") }
    let (first, _) = try network.connect(a, b)
    try network.settle()
    network.cut(first)
    try change(a, "x", by: 1)
    try change(b, "y", by: 7)
    let (second, _) = try network.connect(a, b)
    try network.settle()
    let documents = try a.documents()
    #expect(documents.count == count)
    #expect(documents.values.allSatisfy { $0 == ["n": .int(1), "x": .int(2), "y": .int(2)] })
    #expect(try b.documents() == documents)
    #expect(second.closed == nil)
  }

  /// More than is kept of a walk, with and without much that does not match in between.
  @Test(arguments: [1, 40])
  func `differences among more documents than are kept in memory are found`(every: Int) throws {
    let network = TestNetwork()
    network.configure = Self.compareAnew
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b"))
    func id(_ number: Int) throws -> DocumentID { try DocumentID("document-\(number * 7_919 % 18_000)") }
    try a.write { transaction in
      for number in 0..<18_000 {
        try transaction.upsert(["kind": .int(Int64(number % every))], id: id(number), into: "things")
      }
    }
    for peer in [a, b] { try peer.subscribe("SELECT * FROM things WHERE kind = 0") }
    let (first, _) = try network.connect(a, b)
    try network.settle()
    network.cut(first)
    // One that matches, at each end, and one that does not.
    try a.write { try $0.update(id(every * 5), in: "things", [.set(["a"], .int(1))]) }
    try b.write { try $0.update(id(every * 9), in: "things", [.set(["b"], .int(2))]) }
    if every > 1 { try a.write { try $0.update(id(1), in: "things", [.set(["a"], .int(3))]) } }
    var bytes = 0
    network.onSend = { _, frame in bytes += frame.count }
    let (second, third) = try network.connect(a, b)
    try network.settle()
    let here = try a.documents().filter { $0.value["kind"] == .int(0) }
    #expect(here.count == 18_000 / every)
    #expect(here.values.count { $0["a"] == .int(1) } == 1)
    #expect(here.values.count { $0["b"] == .int(2) } == 1)
    #expect(try b.documents() == here)
    #expect([second.closed, third.closed] == [nil, nil])
    #expect(bytes < 12_000)
  }

  private enum FrameKind: Hashable {
    case comparison, other

    init(_ type: UInt8) {
      self = [FrameType.compare.rawValue, FrameType.answer.rawValue].contains(type) ? .comparison : .other
    }
  }

  /// A range split in two at `bound`, and the bytes that say so.
  private func split(at bounds: [(shared: UInt8, rest: [UInt8])]) -> [UInt8] {
    var bytes: [UInt8] = [1, 2, UInt8(bounds.count + 1)]
    for bound in bounds {
      bytes += [bound.shared, UInt8(bound.rest.count)] + bound.rest + [5] + [UInt8](repeating: 7, count: 8)
    }
    return bytes + [5] + [UInt8](repeating: 7, count: 8)
  }

  @Test func `bounds that rise are read`() throws {
    let bytes = split(at: [(0, [3, 65, 66]), (2, [67]), (3, [1]), (0, [4])])
    var reader = ByteReader(bytes.span.bytes)
    guard case .split(let subranges) = try RangeAnswer(from: &reader).body else {
      Issue.record("no split was read")
      return
    }
    #expect(subranges.map(\.to) == [[3, 65, 66], [3, 65, 67], [3, 65, 67, 1], [4], []])
  }

  @Test(
    arguments: [
      [(1, [3])],  // shares what is not there
      [(0, [])], [(0, [3]), (1, [])],  // not above
      [(0, [3, 65]), (1, [64])], [(0, [3, 65]), (1, [65, 66])],  // below, or sharing more than it says
      [(0, [3]), (0, [3, 65])],
      [(0, [UInt8](repeating: 1, count: 200)), (200, [UInt8](repeating: 1, count: 57))],  // too long
    ] as [[(UInt8, [UInt8])]])
  func `bounds written in another way are refused`(bounds: [(UInt8, [UInt8])]) {
    let bytes = split(at: bounds.map { (shared: $0.0, rest: $0.1) })
    #expect(throws: CodecError.self) {
      var reader = ByteReader(bytes.span.bytes)
      _ = try RangeAnswer(from: &reader)
    }
  }
}
