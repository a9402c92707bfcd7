import CRDTCore
import TestKit

extension Campaign {
  /// Everything that is claimed of merging, and the controls that show that a claim could fail.
  package static let all: [Campaign] = laws + memory + references

  private static let laws: [Campaign] = [
    Campaign("laws of merging, random histories", cases: 200_000) { LawHistory(seed: $0) },
    Campaign("laws of merging, every pair of types", cases: 200_000) { TypePairHistory(seed: $0) },
    Campaign("agreement of the codec with the model", cases: 200_000) { History(seed: $0) },
    Campaign("model without births", cases: 2_000, failing: 1) {
      History(seed: $0, controls: .noBirth, isReal: false)
    },
    Campaign("model with the floor in the life", cases: 2_000, failing: 1) {
      History(seed: $0, controls: .floorInLife, isReal: false)
    },
    Campaign("model without floors of paths", cases: 2_000, failing: 1) {
      History(seed: $0, controls: .noFloor, isReal: false)
    },
  ]

  private static let memory: [Campaign] = [
    Campaign("small scope, every order of delivery", cases: SmallScope.caseCount) { number in
      var scope = SmallScope(number)
      return try scope.run()
    },
    Campaign("removals collected, replicas late", cases: 4_000) { CollectionHistory(seed: $0) },
    Campaign("removals collected, no repair", cases: 2_000, failing: 5) {
      CollectionHistory(seed: $0, isRepairing: false)
    },
    Campaign("absences of an hour to ten years", cases: 5_000) { AbsenceHistory(seed: $0) },
    Campaign("absences, no certificates", cases: 1_000, failing: 10) {
      AbsenceHistory(seed: $0, .withoutCertificates)
    },
    Campaign("absences beyond every certificate", cases: 1_000, failing: 10) {
      AbsenceHistory(seed: $0, .forgotten)
    },
    Campaign("counters: made, evicted, cloned, restored, restarted", cases: 20_000) {
      CounterHistory(seed: $0)
    },
    Campaign("stores copied and put back unnoticed", cases: 20_000) { ForkHistory(seed: $0) },
    Campaign("stores copied, with more births than a vector keeps", cases: 2_000) {
      ForkHistory(seed: $0, isLong: true)
    },
    Campaign("stores copied, openings without random bits", cases: 2_000, failing: 5) {
      ForkHistory(seed: $0, .withoutRandomBits)
    },
    Campaign(
      "stores copied, a new birth claims what the former ones wrote", cases: 1_000, failing: 50,
      planting: Planting(CRDTDefect.formerBirthsCovered)
    ) { ForkHistory(seed: $0) },
    Campaign("stores copied, openings go on as the former", cases: 1_000, failing: 50) {
      ForkHistory(seed: $0, .none)
    },
    Campaign("counters that are made begin epochs", cases: 1_000, failing: 100) {
      CounterHistory(seed: $0, startsEpochs: true)
    },
  ]

  private static let references: [Campaign] = [
    Campaign("flat reference model", cases: 200_000) { FlatHistory(seed: $0) },
    Campaign("flat: removals collected", cases: 20_000) { FlatHistory(seed: $0, controls: .collectFields) },
    Campaign("flat: deleted documents collected", cases: 20_000) {
      FlatHistory(seed: $0, controls: .collectDeleted)
    },
    Campaign("flat without births", cases: 20_000, failing: 50) { FlatHistory(seed: $0, controls: .noBirth) },
    Campaign("flat with the floor in the life", cases: 20_000, failing: 50) {
      FlatHistory(seed: $0, controls: .floorInLife)
    },
    Campaign("flat: removals collected, no repair", cases: 20_000, failing: 50) {
      FlatHistory(seed: $0, controls: [.collectFields, .noRepair])
    },
    Campaign("flat: repair of absent paths only", cases: 40_000, failing: 3) {
      FlatHistory(seed: $0, controls: [.collectFields, .repairAbsentOnly])
    },
    Campaign("nested reference model", cases: 200_000) { NestedHistory(seed: $0) },
    Campaign("nested: removals and floors collected", cases: 20_000) {
      NestedHistory(seed: $0, controls: .collectFields)
    },
    Campaign("nested without floors", cases: 20_000, failing: 200) {
      NestedHistory(seed: $0, controls: .noFloor)
    },
    Campaign("nested: collected, no repair", cases: 20_000, failing: 50) {
      NestedHistory(seed: $0, controls: [.collectFields, .noRepair])
    },
  ]
}
