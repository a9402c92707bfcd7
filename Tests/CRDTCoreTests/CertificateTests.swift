import CRDTCore
import CRDTModel
import TestKit
import Testing

/// Death certificates: deletions of which nothing but the stamp is known.
@Suite struct CertificateTests {
  private static let death = Stamp(reading: ClockReading(milliseconds: 5_000, counter: 3), site: Peer(9).site)

  private func certified(_ number: Int, _ death: Stamp = death) -> Peer {
    var peer = Peer(number)
    peer.document = DocumentCodec.tombstone(of: death, tables: &peer.tables)
    return peer
  }

  @Test func `a certificate's record is small, verifies, and knows the death alone`() throws {
    let peer = certified(1)
    let record = try #require(peer.record)
    #expect(record.bytes.count <= 40 && peer.verifies && !peer.isAlive)
    #expect(try peer.vector.isEmpty)
    let state = try record.withView { view throws(CodecError) in try DocumentState(view, tables: peer.tables)
    }
    #expect(state.summary == peer.document?.summary)
  }

  @Test func `a certificate travels as a document of its own and comes back the same`() throws {
    let peer = certified(1)
    let wire = try peer.wire()
    var other = Peer(2)
    #expect(try other.merge(wire).isChanged)
    #expect(try other.wire() == wire && !other.isAlive)
    #expect(other.document?.summary == peer.document?.summary)
    #expect(try other.merge(wire).isUnchanged)
  }

  @Test func `a certificate deletes what is older, and not what is newer`() throws {
    var old = Peer(1)
    try old.upsert(["a": .int(1)], now: 4_000)
    try old.pull(certified(2))
    #expect(!old.isAlive && old.verifies)
    var young = Peer(3)
    try young.upsert(["a": .int(1)], now: 6_000)
    try young.pull(certified(2))
    #expect(try young.fields == ["a": .int(1)])
  }

  @Test func `a certificate and the tombstone it was made of join to the tombstone, in either order`() throws
  {
    var peer = Peer(9)
    try peer.upsert(["a": .int(1)], now: 4_000)
    try peer.remove(now: 5_000)
    let tombstone = try peer.wire()
    let state = try #require(peer.record).withView { view throws(CodecError) in
      try DocumentState(view, tables: peer.tables)
    }
    let certificate = certified(2, state.death)
    var first = certificate
    try first.merge(tombstone)
    var second = peer
    try second.merge(certificate.wire())
    #expect(try first.wire() == tombstone && second.wire() == tombstone)
    #expect(first.document?.summary == peer.document?.summary)
  }

  @Test func `a write over a certificate starts the document afresh`() throws {
    var peer = certified(1)
    try peer.upsert(["b": .int(2)], now: 1)
    #expect(try peer.fields == ["b": .int(2)])
    var late = Peer(2)
    try late.upsert(["a": .int(1)], now: 4_000)
    try late.pull(peer)
    #expect(try late.fields == ["b": .int(2)])
    var default0 = certified(3)
    #expect(try !default0.upsert(["b": .int(2)], .insertDefaultIfAbsent, now: 9_000))
  }

  @Test func `a wire document whose death has no writer is refused when it lives or is default data`() throws
  {
    var wire = try certified(1).wire()
    wire[0] |= 1
    #expect(throws: CodecError.self) { try WireDocument.validate(wire.span.bytes) }
    var zero = try certified(1).wire()
    for index in 1..<9 { zero[index] = 0 }
    #expect(throws: CodecError.self) { try WireDocument.validate(zero.span.bytes) }
  }

  @Test func `a store that took a new site goes on as a new writer`() throws {
    var peer = Peer(1)
    try peer.upsert(["a": .int(1)], now: 1_000)
    var clone = Peer(2)
    clone.tables = peer.tables
    clone.document = peer.document
    try clone.update([.set(["a"], .int(2))], now: 2_000)
    try peer.update([.set(["a"], .int(3))], now: 3_000)
    #expect(try clone.vector.elements.count == 2)
    try clone.pull(peer)
    try peer.pull(clone)
    #expect(try clone.wire() == peer.wire())
    #expect(try clone.fields == ["a": .int(3)])
  }
}
