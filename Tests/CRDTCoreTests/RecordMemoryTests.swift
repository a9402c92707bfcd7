import CRDTCore
import CRDTModel
import TestKit
import Testing

/// A record takes about as much memory as it has bytes.
///
/// This matters because a record may wait for its transaction and for the listeners of the transaction.
@Suite struct RecordMemoryTests {
  private func expectTight(_ peer: Peer, _ way: String) throws {
    let bytes = try #require(peer.document).record
    let spare = bytes.capacity - bytes.count
    #expect(spare <= bytes.count / 4 + 128, "\(way): \(spare) of \(bytes.capacity) bytes are unused")
  }

  @Test(arguments: [0, 1, 7, 30, 64, 129, 257, 1_100])
  func `whoever makes it`(fields: Int) throws {
    let map = Dictionary(uniqueKeysWithValues: (0..<fields).map { (TextKey("k\($0)"), Value.int(Int64($0))) })
    var writer = Peer(1)
    try writer.upsert(map, now: 77)
    try expectTight(writer, "written")
    var reader = Peer(2)
    try reader.merge(writer.wire())
    try expectTight(reader, "from the wire")
    var late = Peer(3)
    try late.upsert([:], .insertDefaultIfAbsent)
    try late.merge(writer.wire())
    try expectTight(late, "merged")
    try writer.remove(now: 99)
    try expectTight(writer, "removed")
  }
}
