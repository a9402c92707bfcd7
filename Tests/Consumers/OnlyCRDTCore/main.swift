import CRDTCore

// Values, ids, clocks and version vectors, without a store or a network.

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

print("CRDTCore alone: ok")
