import QueryEngine
import TestKit
import Testing

@testable import SyncProtocol

@Suite struct ArrivedQueueTests {
  @Test(arguments: 0..<20 as Range<UInt64>)
  func `groups come out in their order, each with its block and what belongs to it`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let interests = try ["a", "b"].map { Interest([try SubscriptionQuery(dql: "SELECT * FROM \($0)")]) }
    var queue = ArrivedQueue()
    var expected: [(bytes: ArraySlice<UInt8>, seen: UInt64, hash: UInt64)] = []
    for seen in 0..<40 as Range<UInt64> {
      let block = (0..<random.int(below: 200)).map { _ in UInt8(random.int(below: 256)) }
      var ranges: [Range<Int>] = []
      var position = 0
      while position < block.count {
        let end = min(position + random.int(below: 20), block.count)
        ranges.append(position..<end)
        position = end + random.int(below: 3)
      }
      let interest = interests[random.int(below: 2)]
      queue.append(ranges, of: block, seen: seen, interest)
      expected += ranges.map { (block[$0], seen, interest.hash) }
      for _ in 0..<random.int(below: 2 * max(ranges.count, 1)) { try take() }
      expect(queue.indexBytes >= 8 * expected.count)
    }
    while !expected.isEmpty { try take() }
    #expect(queue.isEmpty && queue.first == nil && queue.indexBytes == 0)

    func take() throws {
      guard !expected.isEmpty else { return expect(queue.isEmpty) }
      let (bytes, seen, hash) = expected.removeFirst()
      let group = try #require(queue.first)
      queue.removeFirst()
      expect(group.block[group.range] == bytes && group.seen == seen && group.interest.hash == hash)
    }
  }
}
