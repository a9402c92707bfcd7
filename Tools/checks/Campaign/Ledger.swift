import CRDTCore
import PeerControl

/// What was asked of the peers and what they acknowledged, and what must therefore stand in the end.
struct Ledger {
  /// A number that one writer raises, or several add to: what is certain and what may have happened too.
  struct Bounds {
    var certain: Int64 = 0
    var possible: Int64 = 0

    func contains(_ value: Int64) -> Bool { (certain...possible).contains(value) }
  }

  /// The highest number that each writer has put in its field of each item.
  private(set) var fields: [String: Bounds] = [:]
  /// What the items' counters must have counted.
  private(set) var counters: [String: Bounds] = [:]
  /// Documents that were written, and whether they were deleted; unknown where no answer came.
  private(set) var graves: [String: Grave] = [:]
  /// Papers that were acknowledged: they are let go of here and there, and never by who wrote them.
  private(set) var papers: Set<String> = []
  private(set) var acknowledged = 0
  private(set) var inDoubt = 0

  enum Grave { case standing, deleted, unknown }

  /// A number above all that the writer has tried for the item.
  mutating func nextNumber(_ item: String, by writer: String) -> Int64 {
    fields["\(item) \(writer)", default: Bounds()].possible += 1
    return fields["\(item) \(writer)"]?.possible ?? 0
  }

  mutating func noteField(_ item: String, by writer: String, _ number: Int64, done: Bool) {
    count(done)
    if done { fields["\(item) \(writer)"]?.certain = number }
  }

  mutating func noteIncrement(_ item: String, done: Bool) {
    count(done)
    counters[item, default: Bounds()].possible += 1
    if done { counters[item]?.certain += 1 }
  }

  mutating func noteGrave(_ id: String, _ state: Grave, done: Bool) {
    count(done)
    graves[id] = done ? state : .unknown
  }

  mutating func notePaper(_ id: String, done: Bool) {
    count(done)
    if done { papers.insert(id) }
  }

  mutating func noteTransaction(done: Bool) { count(done) }

  private mutating func count(_ done: Bool) {
    if done { acknowledged += 1 } else { inDoubt += 1 }
  }

  /// What is wrong with the items that a peer holds; empty when nothing is.
  func faults(inItems rows: [[TextKey: Value]]) -> [String] {
    let items = Dictionary(rows.map { ($0.text("_id"), $0) }, uniquingKeysWith: { first, _ in first })
    var faults: [String] = []
    for (name, bounds) in fields.sorted(by: { $0.key < $1.key }) {
      let words = name.split(separator: " ").map(String.init)
      let found = Int64(items[words[0]]?.number(words[1]) ?? 0)
      if !bounds.contains(found) {
        faults.append("\(name) is \(found), acknowledged \(bounds.certain), tried \(bounds.possible)")
      }
    }
    for (item, bounds) in counters.sorted(by: { $0.key < $1.key }) {
      let found = items[item]?["hits"]?.count ?? 0
      if !bounds.contains(found) {
        faults.append("\(item) counts \(found), acknowledged \(bounds.certain), tried \(bounds.possible)")
      }
    }
    return faults
  }

  /// What is wrong with the documents that were written once and perhaps deleted.
  func faults(inGraves ids: Set<String>) -> [String] {
    graves.sorted(by: { $0.key < $1.key }).compactMap { id, state in
      switch state {
      case .standing: ids.contains(id) ? nil : "\(id) was acknowledged and is gone"
      case .deleted: ids.contains(id) ? "\(id) was deleted and stands again" : nil
      case .unknown: nil
      }
    }
  }

  /// What is wrong with the papers of a peer that subscribes to all of them.
  func faults(inPapers ids: Set<String>) -> [String] {
    papers.subtracting(ids).sorted().map { "the paper \($0) was acknowledged and is gone" }
  }
}

extension Value {
  /// What a counter, or the number it is shown as, has counted.
  fileprivate var count: Int64? {
    switch self {
    case .counter(let value), .int(let value): value
    default: nil
    }
  }
}
