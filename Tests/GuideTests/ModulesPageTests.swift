import CRDTCore
import Testing

/// The code of `Documentation/Modules.md`.
@Suite struct ModulesPageTests {
  @Test func `documents merge without a store`() throws {
    let milliseconds: UInt64 = 1_893_499_200_000

    var tablet = Replica(site: SiteID(high: .random(in: 1 ... .max), low: .random(in: 0 ... .max)))
    var order = ReplicatedDocument()
    try tablet.upsert(["status": .string("open"), "count": .counter(0)], into: &order, now: milliseconds)
    try tablet.update(
      [.set(["status"], .string("paid")), .increment(["count"], 1)], of: &order, now: milliseconds)
    let fields = try tablet.fields(of: order)

    #expect(fields == ["status": .string("paid"), "count": .counter(1)])
    var phone = Replica(site: SiteID(high: 7, low: 7))
    var copy = ReplicatedDocument()

    let whole = try tablet.encoding(of: order)
    try phone.merge(whole, into: &copy, now: milliseconds)

    let known = try phone.vector(of: copy)
    try tablet.update([.set(["seat"], .string("12A"))], of: &order, now: milliseconds)
    let delta = try tablet.delta(of: order, since: known)
    let outcome = try phone.merge(delta, into: &copy, now: milliseconds)

    #expect(outcome == .changed && delta.count < whole.count)
    let both = (try tablet.fields(of: order), try phone.fields(of: copy))
    #expect(both.0 == both.1)
    var late = ReplicatedDocument()
    let lacking = try phone.merge(delta, into: &late, now: milliseconds)
    #expect(lacking == .missingBase)
    #expect(throws: CodecError.self) { try phone.merge([0xFF, 1], into: &copy, now: milliseconds) }
    let after = try phone.fields(of: copy)
    #expect(after == both.0)
  }
}
