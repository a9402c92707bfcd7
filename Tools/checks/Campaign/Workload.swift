import CRDTCore
import PeerControl
import TestKit

/// Draws what a peer does next, does it, and notes in the ledger what came of it.
struct Workload {
  static let items = 20
  static let pairs = 8
  static let shelves = 3
  private var graves = 0
  private var papers = 0
  private(set) var evictions = 0
  private(set) var turns = 0
  /// Secrets written so far, which is the number of the last one.
  private(set) var secrets = 0

  /// Documents that all begin with, so that their counters are one everywhere.
  func begin(at member: Member) async throws {
    for number in 0..<Self.items {
      _ = try await member.execute(
        "INSERT INTO COLLECTION items (hits COUNTER) DOCUMENTS ({'_id': :id, 'hits': 0})",
        ["id": .string("i\(number)")])
    }
  }

  mutating func step(_ member: Member, _ ledger: inout Ledger, _ random: inout SeededGenerator) async throws {
    let item = "i\(random.int(below: Self.items))"
    switch random.int(below: 13) {
    case 0...3: try await setField(of: item, at: member, &ledger)
    case 4...5:
      let rows = try await member.execute(
        "UPDATE COLLECTION items (hits COUNTER) APPLY hits INCREMENT BY 1 WHERE _id = :id",
        ["id": .string(item)])
      ledger.noteIncrement(item, done: rows != nil)
    case 6...7:
      try await writePair("p\(random.int(below: Self.pairs))", random.next(), at: member, &ledger)
    case 8: try await bury(at: member, &ledger, &random)
    case 9: try await writePaper(at: member, &ledger, &random)
    case 10:
      turns += 1
      try await member.turn(to: random.int(below: Self.shelves))
    case 11: try await evict(at: member)
    default:
      secrets += 1
      _ = try await member.execute(
        "INSERT INTO secrets DOCUMENTS ({'_id': :id, 'owner': '\(member.name)', 'number': \(secrets)})",
        ["id": .string("\(member.name)-\(secrets)")])
    }
  }

  private func setField(of item: String, at member: Member, _ ledger: inout Ledger) async throws {
    let number = ledger.nextNumber(item, by: member.name)
    let rows = try await member.execute(
      "UPDATE items SET `\(member.name)` = :n WHERE _id = :id", ["n": .int(number), "id": .string(item)])
    ledger.noteField(item, by: member.name, number, done: rows != nil)
  }

  /// The same value in two collections, in one transaction.
  private func writePair(
    _ id: String, _ number: UInt64, at member: Member, _ ledger: inout Ledger
  ) async throws {
    let arguments: [TextKey: Value] = ["id": .string(id), "v": .int(Int64(number >> 12))]
    let done = try await member.transaction(
      ["lefts", "rights"].map {
        ("INSERT INTO \($0) DOCUMENTS ({'_id': :id, 'v': :v}) ON ID CONFLICT DO UPDATE", arguments)
      })
    ledger.noteTransaction(done: done)
  }

  /// Writes a document that some peers subscribe to, and others let go of.
  private mutating func writePaper(
    at member: Member, _ ledger: inout Ledger, _ random: inout SeededGenerator
  ) async throws {
    papers += 1
    let id = "\(member.name)-\(papers)"
    let rows = try await member.execute(
      "INSERT INTO papers DOCUMENTS ({'_id': :id, 'shelf': :shelf, 'author': '\(member.name)'})",
      ["id": .string(id), "shelf": .int(Int64(random.int(below: Self.shelves)))])
    ledger.notePaper(id, done: rows != nil)
  }

  /// Lets go of what others wrote, also of what the peer subscribes to: its author keeps it.
  private mutating func evict(at member: Member) async throws {
    evictions += 1
    _ = try await member.execute("EVICT FROM papers WHERE author != '\(member.name)'")
  }

  /// Writes a document that is never written again, and deletes it half of the time.
  private mutating func bury(
    at member: Member, _ ledger: inout Ledger, _ random: inout SeededGenerator
  ) async throws {
    graves += 1
    let id = "\(member.name)-\(graves)"
    let rows = try await member.execute("INSERT INTO graves DOCUMENTS ({'_id': :id})", ["id": .string(id)])
    ledger.noteGrave(id, .standing, done: rows != nil)
    guard rows != nil, random.oneIn(2) else { return }
    let deleted = try await member.execute("DELETE FROM graves WHERE _id = :id", ["id": .string(id)])
    ledger.noteGrave(id, .deleted, done: deleted != nil)
  }
}

extension PeerError {
  /// Whether the process had ended, so that nobody knows what came of a request.
  var isEnd: Bool { description.contains("has ended") || description.contains("no longer listens") }
}
