import CRDTCore
import CRDTModel
import Foundation
import TestKit
import Testing

/// The merge against the reference model; `DUNLIN_HISTORIES=1000000` makes a long run of it.
@Suite struct ReferenceModelTests {
  private static let histories =
    ProcessInfo.processInfo.environment["DUNLIN_HISTORIES"].flatMap(UInt64.init) ?? 4_000
  private static let shards: UInt64 = 8

  @Test(arguments: 0..<shards)
  func `every history agrees with the model, converges, and loses nothing`(shard: UInt64) throws {
    for seed in stride(from: shard, to: Self.histories, by: Int(Self.shards)) {
      var history = History(seed: seed)
      do { try history.run() } catch {
        Issue.record("seed \(seed): \(error)")
        return
      }
    }
  }

  @Test(arguments: [ModelControls.noBirth, .floorInLife, .noFloor])
  func `a model without one of its rules loses data or diverges`(control: ModelControls) {
    let fails = (0..<1_000 as Range<UInt64>).contains { seed in
      var history = History(seed: seed, controls: control, isReal: false)
      do { try history.run() } catch { return error is History.Failure }
      return false
    }
    #expect(fails)
  }

  @Test func `the model with all its rules loses nothing and converges`() throws {
    for seed in 0..<400 as Range<UInt64> {
      var history = History(seed: seed, isReal: false)
      #expect(throws: Never.self, "seed \(seed)") { try history.run() }
    }
  }
}
