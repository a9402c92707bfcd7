import CRDTCore
import DocStore
import ScopePolicy

/// What users would gain and lose in a store if rules were replaced by others.
struct RulesDifference {
  /// Documents that a user gains or loses.
  struct Changed {
    private(set) var count = 0
    /// The first ones.
    private(set) var ids: [DocumentID] = []

    mutating func add(_ id: RawSpan) throws {
      count += 1
      if ids.count < RulesTrial.Side.named { ids.append(try DocumentID(validating: id)) }
    }

    var value: Value {
      .map(["documents": .count(count), "ids": .array(ids.map(\.value))])
    }
  }

  /// One way of access to one collection, before and after.
  struct Side {
    private let (old, new): (CollectionRule, CollectionRule)
    private(set) var gained = Changed()
    private(set) var lost = Changed()

    init(_ old: CollectionRule, _ new: CollectionRule) { (self.old, self.new) = (old, new) }

    mutating func judge(_ id: RawSpan, _ record: borrowing RecordView) throws {
      switch (old.allows(id, record), new.allows(id, record)) {
      case (false, true): try gained.add(id)
      case (true, false): try lost.add(id)
      case (true, true), (false, false): break
      }
    }

    var isSame: Bool { gained.count == 0 && lost.count == 0 }
  }

  /// One collection for one user.
  struct Row {
    let user: Int
    let collection: String
    var read: Side
    var write: Side
  }

  private let users: [RulesUser]
  private(set) var rows: [Row] = []

  /// Judges all documents by both rules, for each user.
  init(
    _ users: [RulesUser], from old: AccessRules, to new: AccessRules, _ store: Store, _ scan: DocumentScan
  ) throws {
    let rules = users.map {
      (CompiledRules(old, claims: $0.claims, user: $0.id), CompiledRules(new, claims: $0.claims, user: $0.id))
    }
    var rows: [Row] = []
    try scan.run(store) { collection in
      for (user, pair) in rules.enumerated() {
        let (old, new) = pair
        rows.append(
          Row(
            user: user, collection: collection.name,
            read: Side(old.read.rule(for: collection), new.read.rule(for: collection)),
            write: Side(old.write.rule(for: collection), new.write.rule(for: collection))))
      }
    } visit: { id, record in
      for index in rows.indices.suffix(users.count) {
        try rows[index].read.judge(id, record)
        try rows[index].write.judge(id, record)
      }
    }
    self.users = users
    // Sorted by user, and then by collection, since the visits came in the order of collections.
    self.rows = users.indices.flatMap { user in rows.filter { $0.user == user } }
  }

  /// What the command prints for programs: only collections where something changes.
  var values: Value {
    .array(
      users.enumerated().map { index, user in
        .map([
          "user": user.id.map { .string($0) } ?? .null, "file": .string(user.file),
          "collections": .array(
            rows.filter { $0.user == index && !($0.read.isSame && $0.write.isSame) }.map { row in
              .map([
                "collection": .string(row.collection), "readGained": row.read.gained.value,
                "readLost": row.read.lost.value, "writeGained": row.write.gained.value,
                "writeLost": row.write.lost.value,
              ])
            }),
        ])
      })
  }

  /// What the command prints for people.
  var text: String {
    let changed = rows.filter { !($0.read.isSame && $0.write.isSame) }
    guard !changed.isEmpty else { return "Nobody gains or loses anything" }
    var table = TextTable(
      ["user", "collection", "reads more", "reads less", "writes more", "writes less"],
      rightAligned: [2, 3, 4, 5])
    var lines: [String] = []
    for row in changed {
      let name = users[row.user].name
      table.add(
        [name, row.collection.printable]
          + [row.read.gained, row.read.lost, row.write.gained, row.write.lost].map(\.count.groupedDigits))
      for (verb, documents) in [
        ("gains to read", row.read.gained), ("loses to read", row.read.lost),
        ("gains to write", row.write.gained), ("loses to write", row.write.lost),
      ] where documents.count > 0 {
        lines.append("\(name) \(verb) in \(row.collection.printable): \(Self.list(documents))")
      }
    }
    return ([table.text, ""] + lines).joined(separator: "\n")
  }

  private static func list(_ documents: Changed) -> String {
    let ids = documents.ids.map { JSON.text(of: $0.value).printable }.joined(separator: ", ")
    let more = documents.count - documents.ids.count
    return more > 0 ? "\(ids) and \(more.groupedDigits) more" : ids
  }
}
