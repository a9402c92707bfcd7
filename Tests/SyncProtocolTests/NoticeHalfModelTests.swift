import CRDTCore
import Failpoints
import TestKit
import Testing

@testable import SyncProtocol

/// The part that decides who tells whom, back to back in the worlds of `Tools/models/live_model.py`.
@Suite struct NoticeHalfModelTests {
  /// Plays a random history.
  ///
  /// - Returns: What is wrong in the end; `nil` where all is well.
  private static func play(_ seed: UInt64) -> String? {
    var random = SeededGenerator(seed: seed)
    var tuning = SyncTuning()
    tuning.notices.freeNotices = UInt64(random.int(below: 3))
    tuning.notices.exactNotices = random.int(below: 3)
    tuning.notices.leastLookups = random.pick([1, 16])
    tuning.notices.filterBits = random.pick([1, 4, 64])
    let isForgetful = random.int(below: 2) == 0
    let count = isForgetful ? 3 : 2 + random.int(below: 3)
    let colors = Array(0..<2 + random.int(below: 2))
    let documents = isForgetful ? random.pick([2, 4]) : 6
    func interest() -> Set<Int>? {
      guard random.int(below: 5) > 0 else { return nil }
      let some = colors.filter { _ in random.int(below: 2) == 0 }
      return some.isEmpty ? [random.pick(colors)] : Set(some)
    }
    var pairs: [(Int, Int)] = []
    for a in 0..<count {
      for b in a + 1..<max(count, a + 1) where b == a + 1 || random.int(below: 5) < 2 { pairs.append((a, b)) }
    }
    let interests = (0..<count).map { _ in interest() }
    var world = NoticeWorld(random.split(), tuning, interests: interests, pairs: pairs)
    let weights = [
      ("write", 12), ("evict", isForgetful ? 12 : random.pick([0, 2, 8])),
      ("interest", random.pick([0, 1, 4])), ("gate", random.pick([0, 1, 2])),
      ("link", random.pick([0, 1, 4])), ("step", random.pick([6, 20, 40, 100])),
    ]
    let sum = weights.reduce(0) { $0 + $1.1 }
    for _ in 0..<40 + random.int(below: 200) {
      var place = random.int(below: sum)
      let kind = weights.first { _, weight in
        place -= weight
        return place < 0
      }?.0
      let peer = random.int(below: count)
      let document = random.int(below: documents)
      switch kind {
      case "write": world.write(peer, document, random.pick(colors + [NoticeWorld.gone]))
      case "evict": world.evict(peer, document)
      case "interest": world.setInterest(peer, interest())
      case "gate": world.toggleGate(random.pick(world.links))
      case "link":
        let (a, b) = random.pick(pairs)
        if world.isUp(NoticeWorld.Link(from: a, to: b)) {
          world.disconnect(a, b)
        } else {
          world.connect(a, b)
        }
      default: _ = world.step()
      }
    }
    for (a, b) in pairs where !world.isUp(NoticeWorld.Link(from: a, to: b)) { world.connect(a, b) }
    guard world.settle() else { return "no rest" }
    if world.leaks > 0 { return "something left that may not" }
    if world.isWaiting { return "something still waits" }
    return world.owed
  }

  @Test(arguments: 0..<8)
  func `no history leaves a document owed`(part: Int) {
    for seed in part * 250..<(part + 1) * 250 {
      let problem = Self.play(UInt64(seed))
      expect(problem == nil, "seed \(seed): \(problem ?? "")")
    }
  }

  @Test(arguments: [
    SyncDefect.noticesForgotten, .noticesNotChecked, .heldNotLookedAt,
  ])
  func `a rule that lacks a part leaves documents owed`(defect: SyncDefect) {
    let isFound = FailpointPlan(planting: [defect]).run {
      (0..<4_000).contains { Self.play(UInt64($0)) != nil }
    }
    #expect(isFound)
  }
}
