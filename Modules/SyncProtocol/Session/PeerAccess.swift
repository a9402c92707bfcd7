package import CRDTCore
package import DocStore
package import QueryLanguage

/// What the grant in a peer's certificate lets it do here, in the form that a session asks.
///
/// A session gets it with its admission, before anything may leave. Toward the peer, this store then behaves
/// as one without the documents that the peer may not read: it gets no content, id, version, count or
/// fingerprint of them, and cannot tell them from what does not exist.
package struct PeerAccess: Hashable, Sendable {
  /// The documents that a peer may read.
  package enum Reading: Hashable, Sendable {
    case everything
    /// The documents of these collections that the rules allow.
    case collections([TextKey: ReadRule])
  }

  /// What the peer may read.
  package var reading: Reading
  /// Whether this peer runs statements for it, if it runs any for others.
  package var runsStatements: Bool
  /// Whether it hears of this peer's presence.
  package var hearsPresence: Bool

  package init(reading: Reading, runsStatements: Bool, hearsPresence: Bool) {
    self.reading = reading
    self.runsStatements = runsStatements
    self.hearsPresence = hearsPresence
  }

  /// The access of a peer without a grant.
  package static let everything = PeerAccess(
    reading: .everything, runsStatements: true, hearsPresence: true)

  /// The access of a peer of which nothing is known.
  package static let nothing = PeerAccess(
    reading: .collections([:]), runsStatements: false, hearsPresence: false)

  /// Whether the peer may read documents of a collection, all or some.
  package func mayRead(_ collection: String) -> Bool {
    switch reading {
    case .everything: true
    case .collections(let rules): rules[TextKey(collection)] != nil
    }
  }

  /// Whether the peer may read the document with an id, in some state at least.
  package func mayRead(_ collection: String, _ id: RawSpan) -> Bool {
    switch reading {
    case .everything: true
    case .collections(let rules): rules[TextKey(collection)]?.mayAllow(id) ?? false
    }
  }

  /// Whether the peer may read the copy of a document that is stored here.
  ///
  /// - Parameters:
  ///   - collection: The document's collection.
  ///   - id: The document's id.
  ///   - snapshot: Where the copy is read.
  /// - Returns: For a document without an intact copy, whether the peer may read it in some state.
  /// - Throws: What reading throws.
  package func mayRead(
    _ collection: Collection, _ id: DocumentID, in snapshot: borrowing ReadTransaction
  ) throws -> Bool {
    var isReadable = mayRead(collection.name, id.bytes.span.bytes)
    guard isReadable, var rule = partialRule(of: collection.name), rule.dependsOnFields else {
      return isReadable
    }
    rule.resolve(collection.keys)
    try snapshot.visitIntactRecord(collection, id, damaged: { _ in }) { _, record, _ in
      isReadable = rule.allows(id.bytes.span.bytes, record)
    }
    return isReadable
  }

  /// Whether a write to a document of the collection can change whether the peer may read it.
  package func dependsOnFields(of collection: String) -> Bool {
    partialRule(of: collection)?.dependsOnFields ?? false
  }

  /// Returns the rule by which the peer may read some documents of a collection; `nil` for all, or none.
  package func partialRule(of collection: String) -> ReadRule? {
    guard case .collections(let rules) = reading, let rule = rules[TextKey(collection)], !rule.allowsAll
    else { return nil }
    return rule
  }

  /// A hash of what the peer may read: equal for equal access, even after a restart, and 0 for everything.
  ///
  /// Checkpoints rest on it, as on the sync scopes.
  package var fingerprint: UInt64 {
    guard case .collections(let rules) = reading else { return 0 }
    let lanes = rules.keys.sorted().reduce(HashLanes("reads", seed: 1)) { lanes, name in
      let rule = HashLanes(rules[name]?.fingerprint ?? 0, 0, seed: 1)
      return lanes.combined(with: HashLanes(name)).combined(with: rule)
    }
    return max(lanes.first, 1)
  }
}

/// The documents of one collection that a peer may read.
///
/// A rule depends on the id alone, or on the document's fields. With fields, a write can make a document
/// readable or hide it; it is then withdrawn from the peer (``GoneNotice``).
package struct ReadRule: Hashable, Sendable {
  /// Equal rules have equal fingerprints, even after a restart, and different rules different ones.
  package let fingerprint: UInt64
  /// For a rule that depends on the id alone.
  private let accepts: (@Sendable (RawSpan) -> Bool)?
  /// For a rule that depends on fields.
  private var predicates: PredicateUnion?

  /// A rule that allows every document.
  package static let all = ReadRule(fingerprint: 0, accepts: nil, predicates: nil)

  private init(fingerprint: UInt64, accepts: (@Sendable (RawSpan) -> Bool)?, predicates: PredicateUnion?) {
    (self.fingerprint, self.accepts, self.predicates) = (fingerprint, accepts, predicates)
  }

  /// Makes a rule that depends on the id alone.
  ///
  /// - Parameters:
  ///   - fingerprint: A hash of the rule and of all that it depends on; not 0.
  ///   - accepts: Whether the document with an id is allowed; always the same for an id.
  package init(fingerprint: UInt64, allows accepts: @escaping @Sendable (_ id: RawSpan) -> Bool) {
    self.init(fingerprint: max(fingerprint, 1), accepts: accepts, predicates: nil)
  }

  /// Makes a rule that depends on the document's fields.
  ///
  /// - Parameters:
  ///   - fingerprint: A hash of the rule and of all that it depends on; not 0.
  ///   - predicates: A document is allowed if one of them accepts it.
  package init(fingerprint: UInt64, allows predicates: PredicateUnion) {
    self.init(fingerprint: max(fingerprint, 1), accepts: nil, predicates: predicates)
  }

  /// Whether every document is allowed.
  package var allowsAll: Bool { accepts == nil && predicates == nil }

  /// Whether a document's fields decide, so that a write can change the answer.
  package var dependsOnFields: Bool { predicates != nil }

  /// Looks up the keys of fields, once for each version of a collection's key table.
  package mutating func resolve(_ keys: KeyTable) { predicates?.resolve(keys) }

  /// Whether a document is allowed in the state of `record`.
  ///
  /// A removed document is judged by the content of its tombstone. The rule must be resolved for the
  /// collection's keys.
  package func allows(_ id: RawSpan, _ record: borrowing RecordView) -> Bool {
    if let accepts { return accepts(id) }
    return predicates?.accepts(id, record) ?? true
  }

  /// Whether the document with an id is allowed in some state.
  package func mayAllow(_ id: RawSpan) -> Bool { accepts?(id) ?? true }

  package static func == (left: ReadRule, right: ReadRule) -> Bool { left.fingerprint == right.fingerprint }

  package func hash(into hasher: inout Hasher) { hasher.combine(fingerprint) }

  /// A number of documents or compacted tombstones to name in place of a true one.
  ///
  /// A true count would include what the peer may not read. With this one the other side reports each
  /// document that it holds, instead of asking for a filter.
  static let statedCount: UInt64 = 1 << 32
}
