package import CRDTCore
package import DocStore

/// What users would gain and lose if rules were replaced by others, of the documents that it was shown.
package struct RulesDifference: Sendable {
  /// Documents that a user gains or loses.
  struct Changed: Sendable {
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
  struct Side: Sendable {
    fileprivate(set) var (old, new): (CollectionRule, CollectionRule)
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
  struct Row: Sendable {
    let user: Int
    let collection: String
    var read: Side
    var write: Side
  }

  private let users: [User]
  private var rows: [Row] = []

  /// A user, with both rules.
  private struct User: Sendable {
    let id: String?
    let old: CompiledRules
    let new: CompiledRules
  }

  /// Begins without documents.
  ///
  /// - Parameters:
  ///   - users: The users: their ids and their claims.
  ///   - old: The rules that hold.
  ///   - new: The rules that would hold.
  package init(_ users: [(id: String?, claims: Claims)], from old: AccessRules, to new: AccessRules) {
    self.users = users.map {
      User(
        id: $0.id, old: CompiledRules(old, claims: $0.claims, user: $0.id),
        new: CompiledRules(new, claims: $0.claims, user: $0.id))
    }
  }
}

extension RulesDifference: RulesJudge {
  package mutating func begin(_ collection: DocStore.Collection) {
    for (index, user) in users.enumerated() {
      rows.append(
        Row(
          user: index, collection: collection.name,
          read: Side(user.old.read.rule(for: collection), user.new.read.rule(for: collection)),
          write: Side(user.old.write.rule(for: collection), user.new.write.rule(for: collection))))
    }
  }

  package mutating func resume(_ collection: DocStore.Collection) {
    for (index, user) in zip(rows.indices.suffix(users.count), users) {
      rows[index].read.old = user.old.read.rule(for: collection)
      rows[index].read.new = user.new.read.rule(for: collection)
      rows[index].write.old = user.old.write.rule(for: collection)
      rows[index].write.new = user.new.write.rule(for: collection)
    }
  }

  package mutating func judge(_ id: RawSpan, _ record: borrowing RecordView) throws {
    for index in rows.indices.suffix(users.count) {
      try rows[index].read.judge(id, record)
      try rows[index].write.judge(id, record)
    }
  }
}

extension RulesDifference {
  /// What was found, by user: only collections where something changes.
  ///
  /// Commands print it for programs, and the big peer answers it.
  package var values: Value {
    .array(
      users.enumerated().map { index, user in
        .map([
          "user": user.id.map { .string($0) } ?? .null,
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
}
