import CRDTCore
import CRDTModel
import Testing

/// A small part of each campaign of `Tools/laws`, which runs them in full.
@Suite struct CampaignTests {
  /// So many of its cases that all claims together take seconds in a debug build.
  private static let share: UInt64 = 1_600

  @Test(arguments: Campaign.all.filter { !$0.isControl }.map(\.name))
  func `a claim holds`(name: String) throws {
    let campaign = try #require(Campaign.all.first { $0.name == name })
    let cases = max(campaign.cases / Self.share, 10)
    for seed in 0..<cases {
      // Spread over the numbered cases; the tool has the first ones of the random kind.
      let number = seed * Self.share + 7
      do { _ = try campaign.run(number) } catch {
        Issue.record("seed \(number): \(error)")
        return
      }
    }
  }

  /// Controls fail so rarely that some need more cases than a debug build has time for.
  @Test(arguments: ["model without floors of paths", "nested without floors", "absences, no certificates"])
  func `a control fails`(name: String) throws {
    let campaign = try #require(Campaign.all.first { $0.name == name })
    let hasFailed = (0..<100 as Range<UInt64>).contains { (try? campaign.run($0)) == nil }
    #expect(hasFailed)
  }

  @Test func `a failing history is made short`() throws {
    let seed = try #require(
      (0..<500 as Range<UInt64>).first { seed in
        var history = NestedHistory(seed: seed, controls: .noFloor)
        return (try? history.run()) == nil
      })
    let shrunk = try #require(ShrunkHistory(of: { NestedHistory(seed: seed, controls: .noFloor) }))
    #expect(shrunk.steps.count <= 8)
    #expect(shrunk.failure == "replicas diverged" || shrunk.failure == "replicas differ from the log")
  }
}

/// Evict, write, resubscribe: the case that the birth in a writer is for, on the model that can leave it out.
@Suite struct BirthTests {
  private func history(_ controls: ModelControls) throws -> (phone: ModelDocument, cloud: ModelDocument) {
    var operations = OperationLog()
    var (phone, cloud) = (ModelDocument(controls), ModelDocument(controls))
    try phone.upsert([(0, .int(1)), (1, .int(1))], site: 1, reading: 10, &operations)
    _ = cloud.merge(phone, base: [:])
    phone.evict()
    try phone.upsert([(1, .int(9))], site: 1, reading: 20, &operations)
    // The subscription brings the document back: as what the phone lacks by its vector.
    _ = phone.merge(cloud, base: phone.vector)
    _ = cloud.merge(phone, base: cloud.vector)
    return (phone, cloud)
  }

  @Test func `a site that evicts, writes and resubscribes gets everything back`() throws {
    let (phone, cloud) = try history([])
    #expect(phone.visible == ["a": .int(1), "b": .int(9)])
    #expect(cloud.visible == phone.visible)
  }

  @Test func `without births it takes its own old writes for known, and loses them`() throws {
    let (phone, cloud) = try history(.noBirth)
    #expect(phone.visible == ["b": .int(9)])
    #expect(cloud.visible != phone.visible)
  }
}
