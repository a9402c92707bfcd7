import TestKit
import Testing

/// The rules by which a receiver goes on from a cursor, proved on models before they are trusted in sessions.
@Suite struct FollowingModelTests {
  @Test func `whoever goes on from a cursor lacks nothing that concerns it`() {
    for seed in 0..<1_000 as Range<UInt64> {
      var model = CheckpointModel(seed: seed)
      expect(model.run() == nil, "seed \(seed)")
    }
  }

  /// For each rule a history that breaks without it.
  @Test(
    arguments: [
      (CheckpointModel.Fault.notices, 4), (.leaveFilter, 1), (.evictions, 10), (.policy, 69), (.epoch, 53),
    ] as [(CheckpointModel.Fault, UInt64)])
  func `a cursor without one of its rules loses documents`(fault: CheckpointModel.Fault, seed: UInt64) {
    var model = CheckpointModel(seed: seed, without: fault)
    #expect(model.run() != nil)
    var whole = CheckpointModel(seed: seed)
    #expect(whole.run() == nil)
  }

  @Test func `a cursor that advances by marks holds wherever links are cut`() {
    for seed in 0..<1_000 as Range<UInt64> {
      var model = MarkModel(seed: seed)
      expect(model.run() == nil, "seed \(seed)")
    }
  }

  @Test(
    arguments: [
      (MarkModel.Fault.openAsks, 1_986), (.openAsksOwnPlace, 713), (.owedReplies, 136_091),
    ] as [(MarkModel.Fault, UInt64)])
  func `a mark that is taken without one of its rules loses documents`(fault: MarkModel.Fault, seed: UInt64) {
    var model = MarkModel(seed: seed, without: fault)
    #expect(model.run() != nil)
    var whole = MarkModel(seed: seed)
    #expect(whole.run() == nil)
  }
}
