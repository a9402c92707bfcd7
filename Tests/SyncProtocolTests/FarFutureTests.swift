import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

/// A peer whose clock is centuries ahead.
@Suite struct FarFutureTests {
  private static let query = "SELECT * FROM things"

  /// How many documents came over a link and changed nothing.
  private func refusals(_ end: Endpoint) -> Int {
    let statistics = end.session.statistics
    return Int(statistics.documentsReceived) - Int(statistics.documentsChanged)
  }

  /// Lets ten minutes pass in which the peers only keep their link alive.
  private func quiet(_ network: TestNetwork) throws {
    for _ in 0..<120 {
      try network.wait(.seconds(5))
      try network.settle()
    }
  }

  @Test func `what is from the far future is not offered again and again, and nothing else waits for it`()
    throws
  {
    let network = TestNetwork()
    let clock = ManualClock()
    clock.advance(by: 200 * 366 * 86_400_000)
    let future = try network.addPeer("future", clock: clock)
    let present = try network.addPeer("present")
    try present.put("shared", ["n": .int(1)])
    try future.put("ahead", ["n": .int(1)])
    for peer in [future, present] { try peer.subscribe(Self.query) }
    let (end, other) = try network.connect(future, present)
    try network.settle()
    #expect(try present.document("ahead") == nil)
    #expect(try future.document("shared") == ["n": .int(1)])
    #expect(refusals(other) == 1)
    #expect(present.log.all.count { $0.contains("not taken in") } == 1)

    // A write on what both have is refused as well, and the document stays in use at both ends.
    try future.put("shared", ["m": .int(2)])
    try network.settle()
    try quiet(network)
    try present.put("shared", ["k": .int(3)])
    try present.put("other", ["n": .int(4)])
    try network.settle()
    #expect(try present.document("shared") == ["n": .int(1), "k": .int(3)])
    #expect(try future.document("shared") == ["n": .int(1), "m": .int(2), "k": .int(3)])
    #expect(try future.document("other") == ["n": .int(4)])
    let before = refusals(other)
    #expect(before >= 2)
    try quiet(network)
    #expect(refusals(other) == before)

    network.cut(end)
    let (_, next) = try network.connect(future, present)
    try network.settle()
    // As what is lacking, and once more whole.
    #expect((2...4).contains(refusals(next)))
    // When its time has come, it is taken in.
    network.clock.advance(by: 200 * 366 * 86_400_000)
    present.endpoints.forEach { network.cut($0) }
    try network.connect(future, present)
    try network.settle()
    #expect(try present.documents() == future.documents())
  }
}
