import CRDTCore
import Foundation
import PeerControl
import TestKit

/// One run: peers in processes of their own, lines that fail, kills, copies; then quiet, and the reckoning.
final class PeerCampaign {
  /// What is broken on purpose, to see that it is noticed.
  enum Plant: String, CaseIterable {
    /// Bits change on the way; every session must notice, and nothing be lost.
    case flip
    /// A peer goes on from an old copy although it had acknowledged more, which the reckoning must find.
    case lose
  }

  private let directory: URL
  private let program: String
  private let plant: Plant?
  private var random: SeededGenerator
  private var members: [Member] = []
  private var lines: [FaultProxy] = []
  private var ledger = Ledger()
  private var workload = Workload()
  private(set) var faults: [String] = []
  private(set) var tally: [String: Int] = [:]

  init(seed: UInt64, peers: Int, directory: URL, program: String, plant: Plant?) {
    self.directory = directory
    self.program = program
    self.plant = plant
    random = SeededGenerator(seed: seed)
    members = (0..<peers).map {
      Member(name: "p\($0)", path: directory.appendingPathComponent("p\($0)").path, program: program)
    }
  }

  var acknowledged: Int { ledger.acknowledged }

  func run(for seconds: Double) async throws {
    defer { end() }
    for member in members { try await member.start() }
    try await connect()
    try await workload.begin(at: members[0])
    try await settle(within: 30, "at the beginning")
    guard faults.isEmpty else { return }
    if plant == .lose { try await lose() }
    try await rage(until: Date() + seconds)
    try await heal()
    try await settle(within: 60, "after healing")
    guard faults.isEmpty else { return }
    // What is lost on purpose never comes.
    try await gather(within: plant == .lose ? 3 : 60)
    for member in members { try await check(member) }
    let flips = lines.reduce(0) { $0 + $1.flips }
    if flips > 0 {
      tally["flips", default: 0] += flips
      tally["noticed", default: 0] += members.reduce(0) {
        $0 + $1.log.filter(Self.tellsOfDamage).count
      }
    }
  }

  /// Whether a line of a log says that a session ended over what came in.
  private static func tellsOfDamage(_ line: String) -> Bool {
    ["(checksum", "(malformed", "(limit", "(outOfOrder"].contains { line.contains($0) }
  }

  private func end() {
    for member in members { member.stop() }
    for line in lines { line.close() }
  }

  /// A ring with some chords.
  private func connect() async throws {
    let count = members.count
    for index in 0..<count { try await join(members[index], to: members[(index + 1) % count]) }
    for index in 0..<count where random.oneIn(3) {
      let other = (index + 2 + random.int(below: max(1, count - 3))) % count
      if other != index, members[index].lines[members[other].name] == nil {
        try await join(members[index], to: members[other])
      }
    }
  }

  private func join(_ member: Member, to other: Member) async throws {
    let line = try FaultProxy(to: other.port)
    lines.append(line)
    try await member.dial(line, to: other.name)
  }

  // MARK: - Trouble

  private func rage(until end: Date) async throws {
    while Date() < end {
      for _ in 0..<random.int(below: 16) {
        try await workload.step(random.pick(members), &ledger, &random)
      }
      try await fault()
      try await checkPairs(random.pick(members))
      try await Task.sleep(for: .milliseconds(20 + random.int(below: 80)))
      for member in members where !member.isRunning && random.oneIn(3) { try await restart(member) }
    }
  }

  private func fault() async throws {
    let line = random.pick(lines)
    switch random.int(below: 12) {
    case 0: note("cuts") { line.cut(after: 0) }
    case 1: note("cuts") { line.cut(after: 1 + random.int(below: 4_000)) }
    case 2: note("stalls") { line.stall(Set(FaultProxy.Way.allCases)) }
    case 3: note("stalls of one way") { line.stall([random.pick(FaultProxy.Way.allCases)]) }
    case 4: note("slow lines") { line.throttle(to: 2_000 << random.int(below: 8)) }
    case 5...7: line.heal()
    case 8 where plant == .flip: line.flip()
    case 9 where random.oneIn(3):
      let member = random.pick(members)
      if member.isRunning { note("kills") { member.kill() } }
    case 10 where random.oneIn(20) && members.count < 12: try await copy(random.pick(members))
    default: break
    }
  }

  private func note(_ what: String, _ body: () -> Void) {
    tally[what, default: 0] += 1
    body()
  }

  private func restart(_ member: Member) async throws {
    try await member.start()
    for other in members { other.lines[member.name]?.lead(to: member.port) }
  }

  /// A peer's directory is copied while nobody runs on it, and both go on.
  private func copy(_ member: Member) async throws {
    tally["copies", default: 0] += 1
    member.kill()
    let name = "p\(members.count)"
    let path = directory.appendingPathComponent(name)
    try FileManager.default.copyItem(at: URL(filePath: member.path), to: path)
    let twin = Member(name: name, path: path.path, program: program)
    twin.inherited = member.inherited
    twin.inherited[member.name] = workload.secrets
    members.append(twin)
    try await restart(member)
    try await twin.start()
    try await join(twin, to: member)
    try await join(twin, to: random.pick(members.filter { $0 !== twin && $0.isRunning }))
  }

  /// What nobody else has got is lost with the directory.
  private func lose() async throws {
    let member = members[1]
    member.kill()
    let saved = directory.appendingPathComponent("saved")
    try FileManager.default.copyItem(at: URL(filePath: member.path), to: saved)
    let all = Set(FaultProxy.Way.allCases)
    for line in lines { line.stall(all) }
    try await restart(member)
    for _ in 0..<20 { try await workload.step(member, &ledger, &random) }
    member.kill()
    try FileManager.default.removeItem(atPath: member.path)
    try FileManager.default.moveItem(at: saved, to: URL(filePath: member.path))
    try await restart(member)
    for line in lines { line.heal() }
  }

  // MARK: - Reckoning

  private func heal() async throws {
    for line in lines { line.heal() }
    for member in members where !member.isRunning { try await restart(member) }
    for member in members { try await member.redial() }
  }

  /// Waits until all peers hold the same.
  private func settle(within seconds: Double, _ when: String) async throws {
    let start = Date()
    var digests: [String: [String: String]] = [:]
    while Date().timeIntervalSince(start) < seconds {
      digests = [:]
      for member in members { digests[member.name] = try await member.digests() ?? [:] }
      let first = digests[members[0].name] ?? [:]
      if first["items"] != nil, digests.values.allSatisfy({ $0 == first }) { return }
      try await Task.sleep(for: .milliseconds(100))
    }
    for (name, digest) in digests.sorted(by: { $0.key < $1.key }) {
      faults.append("no agreement \(when): \(name) holds \(digest.sorted { $0.key < $1.key })")
    }
  }

  /// Subscribes every peer to all papers, and waits for the papers and the observers' last diffs.
  private func gather(within seconds: Double) async throws {
    for member in members { try await member.turn(to: nil) }
    let end = Date() + seconds
    var found: [String] = []
    repeat {
      found = []
      for member in members {
        let ids = Set(try await member.execute("SELECT _id FROM papers")?.map { $0.text("_id") } ?? [])
        found += ledger.faults(inPapers: ids).map { "\(member.name): \($0)" }
        found += try await member.observerFaults().map { "\(member.name): \($0)" }
      }
      if found.isEmpty { break }
      try await Task.sleep(for: .milliseconds(100))
    } while Date() < end
    faults += found
    tally["diffs", default: 0] += members.reduce(0) { $0 + $1.diffs }
    tally["papers", default: 0] += ledger.papers.count
    tally["evictions", default: 0] += workload.evictions
    tally["changes of subscriptions", default: 0] += workload.turns
  }

  private func check(_ member: Member) async throws {
    let items = try await member.execute("SELECT * FROM items") ?? []
    let graves = Set(try await member.execute("SELECT _id FROM graves")?.map { $0.text("_id") } ?? [])
    let found = ledger.faults(inItems: items) + ledger.faults(inGraves: graves)
    faults += found.map { "\(member.name): \($0)" }
    try await checkPairs(member)
    for row in try await member.execute("SELECT * FROM secrets") ?? [] where !isOwn(row, member) {
      faults.append("\(member.name) holds the secret \(row.text("_id"))")
    }
  }

  /// A copy has the secrets that the peer had which it was made of, and none that was written later.
  private func isOwn(_ row: [TextKey: Value], _ member: Member) -> Bool {
    let owner = row.text("owner")
    return owner == member.name || row.number("number") <= member.inherited[owner] ?? 0
  }

  /// Both halves of every pair must be there, and of the same transaction.
  private func checkPairs(_ member: Member) async throws {
    tally["looks at pairs", default: 0] += 1
    for (one, other) in [("lefts", "rights"), ("rights", "lefts")] {
      let rows = try await member.execute(
        "SELECT a._id AS id, a.v AS mine, b.v AS theirs FROM \(one) a LEFT JOIN \(other) b ON b._id = a._id")
      for row in rows ?? [] where row["mine"] != row["theirs"] {
        faults.append("\(member.name) shows half of a transaction: \(row)")
      }
    }
  }
}
