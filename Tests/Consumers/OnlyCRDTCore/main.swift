import CRDTCore

// Values, ids, clocks, version vectors and documents that merge, without a store or a network.

let text = #"{"_id":{"airport":"JFK","gate":4},"delay":61.5,"legs":[1,2],"note":"late \u2708"}"#
let value = try JSON.parse(text)
guard case .map(let fields) = value, let idValue = fields["_id"] else { fatalError("not a document") }
let again = try JSON.parse(JSON.text(of: value))
precondition(again == value)

let id = try DocumentID(idValue)
let sameID = try DocumentID(.map(["gate": .int(4), "airport": .string("JFK")]))
precondition(id.value == idValue && id == sameID, "the order of keys does not matter in an id")

var clock = HybridClock()
let site = SiteID(high: 1, low: 2)
let first = clock.tick(now: 1_000)
let second = clock.tick(now: 999)
precondition(second > first, "time goes on although the wall clock went back")

let writer = Writer(site: site, birth: first)
var here = VersionVector([.init(writer: writer, reading: second)])
let other = Writer(site: SiteID(high: 3, low: 4), birth: first)
let there = VersionVector([.init(writer: other, reading: first)])
precondition(!here.dominates(there))
here.join(there)
precondition(here.dominates(there) && here.covers(writer, at: first))

// Two replicas write to one document apart from each other, exchange deltas, and agree.
let now: UInt64 = 1_760_000_000_000
var tablet = Replica(site: SiteID(high: 5, low: 6))
var phone = Replica(site: SiteID(high: 7, low: 8))
var onTablet = ReplicatedDocument()
var onPhone = ReplicatedDocument()
try tablet.upsert(fields, into: &onTablet, now: now)
try phone.merge(tablet.encoding(of: onTablet), into: &onPhone, now: now)

let known = try phone.vector(of: onPhone)
try tablet.update(
  [.set(["note"], .string("boarding")), .increment(["calls"], 1)], of: &onTablet, now: now + 1)
try phone.update([.set(["delay"], .int(75)), .increment(["calls"], 1)], of: &onPhone, now: now + 1)
let delta = try tablet.delta(of: onTablet, since: known)
precondition(delta.count < 120, "a delta has the changes only")
let atPhone = try phone.merge(delta, into: &onPhone, now: now + 2)
let atTablet = try tablet.merge(phone.encoding(of: onPhone), into: &onTablet, now: now + 2)
precondition(atPhone == .changed && atTablet == .changed)
precondition(onTablet.summary == onPhone.summary)

let merged = try phone.fields(of: onPhone)
let atBoth = try tablet.fields(of: onTablet)
precondition(merged == atBoth && merged?["calls"] == .counter(2))
precondition(merged?["note"] == .string("boarding") && merged?["delay"] == .int(75))

// Bytes from elsewhere are refused unless they are a document; what is here stays as it is.
do {
  try phone.merge([0xFF, 1, 2], into: &onPhone, now: now)
  preconditionFailure("no document")
} catch {
  let after = try phone.fields(of: onPhone)
  precondition(after == merged)
}

print("CRDTCore alone: ok")
