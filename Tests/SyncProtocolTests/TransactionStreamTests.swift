import CRDTCore
import Testing

@testable import SyncProtocol

/// The stream of small groups that wait to be sent.
@Suite struct TransactionStreamTests {
  private static func append(
    _ collection: String, bytes: Int, sequence: UInt64, to stream: inout TransactionStream
  ) throws {
    var group = TransactionEncoder()
    let id = try DocumentID("a")
    let gatekeeper = Gatekeeper(gate: EverythingGate(), peer: .small, access: .everything)
    guard let cleared = gatekeeper.clear(gathered: collection) else {
      throw SyncError(.denied, "the gate is closed")
    }
    group.append(
      cleared, id: id.bytes.span.bytes, flags: 0, wire: [UInt8](repeating: 7, count: bytes))
    stream.append(group, sequence: sequence, isBulk: false)
  }

  @Test func `a piece ends with a group if one ends in it`() throws {
    var stream = TransactionStream()
    for sequence in 1...3 {
      try Self.append("cars", bytes: 40, sequence: UInt64(sequence), to: &stream)
    }
    let each = stream.byteCount / 3
    let two = stream.dequeue(atMost: each * 3 - 1)
    #expect(two.bytes.count == each * 2 && two.transactions.map(\.sequence) == [1, 2])
    let part = stream.dequeue(atMost: 10)
    #expect(part.bytes.count == 10 && part.transactions.isEmpty)
    let rest = stream.dequeue(atMost: 1_000)
    #expect(rest.bytes.count == each - 10 && rest.transactions.map(\.sequence) == [3])
    #expect(stream.byteCount == 0)
    #expect(part.bytes + rest.bytes == Array(two.bytes[each...]))
  }

  @Test func `what a policy forbids is dropped, and the rest stays as it is`() throws {
    var stream = TransactionStream()
    for (sequence, name) in zip(1..., ["cars", "boats", "cars", "boats"]) {
      try Self.append(name, bytes: 20 + sequence, sequence: UInt64(sequence), to: &stream)
    }
    var whole = stream
    let all = whole.dequeue(atMost: 1_000)
    let none = stream.remove { $0 == "planes" }
    #expect(none == (0, false))
    let boats = stream.remove { $0 == "boats" }
    #expect(boats == (2, false))
    let kept = stream.dequeue(atMost: 1_000)
    #expect(kept.transactions.map(\.sequence) == [1, 3])
    let ends = all.transactions.map { Int($0.end) }
    #expect(kept.bytes == Array(all.bytes[..<ends[0]] + all.bytes[ends[1]..<ends[2]]))
  }

  @Test func `of a group that was begun the peer is told`() throws {
    var stream = TransactionStream()
    try Self.append("boats", bytes: 40, sequence: 1, to: &stream)
    try Self.append("cars", bytes: 40, sequence: 2, to: &stream)
    let part = stream.dequeue(atMost: 10)
    #expect(part.transactions.isEmpty)
    let dropped = stream.remove { $0 == "boats" }
    #expect(dropped == (1, true))
    let rest = stream.dequeue(atMost: 1_000)
    #expect(rest.transactions.map(\.sequence) == [2])
  }
}
