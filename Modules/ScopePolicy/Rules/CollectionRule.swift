package import CRDTCore
package import QueryLanguage

/// What one user may read, or write, of one collection.
package struct CollectionRule: Sendable {
  /// One query of the rules, compiled for the user.
  package struct Part: Sendable {
    /// The query as the rules have it.
    package let text: String
    /// The predicate; `nil` if the query accepts no document of this user.
    package let predicate: CompiledPredicate?
    /// The parameters of the query that have no value.
    package let missing: [TextKey]
    /// Why the query cannot be compiled with the user's claims; `nil` if it can.
    package let failure: String?

    /// Whether the predicate may accept some document.
    var mayAccept: Bool { predicate?.mayAccept ?? false }
  }

  /// The queries, in the order of the rules; none where everything or nothing is allowed.
  package let parts: [Part]
  /// The predicates of all queries that may accept a document.
  package private(set) var predicates = PredicateUnion()
  /// Whether no document at all is allowed.
  package let isNothing: Bool
  /// Whether the answer depends on nothing but a document's id, so that it never changes.
  package let dependsOnIDAlone: Bool
  /// A hash of what is allowed: equal for the same predicates, also after a restart; 0 for nothing at all.
  package let fingerprint: UInt64

  /// Every document of the collection.
  static let everything: CollectionRule = {
    // No predicate can be refused here: it has no parameters and no size.
    let predicate = try? CompiledPredicate(nil)
    return CollectionRule(parts: [], predicate.map { [$0] } ?? [])
  }()

  /// No document.
  static let nothing = CollectionRule(parts: [], [])

  private init(parts: [Part], _ accepting: [CompiledPredicate]) {
    self.parts = parts
    isNothing = accepting.isEmpty
    // One that accepts everything makes the others idle.
    let effective = accepting.first(where: \.acceptsAll).map { [$0] } ?? Set(accepting).sorted()
    dependsOnIDAlone = effective.allSatisfy(\.readsIDAlone)
    fingerprint = effective.reduce(into: UInt64(0)) { hash, predicate in
      hash = HashLanes(hash, 1).combined(with: HashLanes(predicate.bytes.span.bytes)).first
    }
    for predicate in effective { predicates.insert(predicate) }
    // So that ids can be judged before anybody resolves it for a collection.
    predicates.resolve(KeyTable())
  }

  /// Compiles the queries of one collection.
  init(_ queries: [RuleQuery], _ arguments: [TextKey: Value]) {
    let parts = queries.map { query in
      let missing = query.parameters.filter { arguments[$0] == nil }.sorted()
      do throws(QueryError) {
        let predicate = try query.compiled(arguments)
        return Part(text: query.text, predicate: predicate, missing: missing, failure: nil)
      } catch {
        // A query that fails accepts nothing, which is the safe side; it is reported by the tools.
        return Part(text: query.text, predicate: nil, missing: missing, failure: error.message)
      }
    }
    self.init(parts: parts, parts.filter(\.mayAccept).compactMap(\.predicate))
  }

  /// Whether every document is allowed.
  package var isEverything: Bool { predicates.acceptsAll }

  /// Looks up the predicates' keys, once for each version of a collection's key table.
  package mutating func resolve(_ keys: KeyTable) { predicates.resolve(keys) }

  /// Whether a document is allowed: one of the queries is true of it.
  ///
  /// A removed document is judged by the content that its tombstone has.
  ///
  /// - Parameters:
  ///   - id: The bytes of the document's id.
  ///   - record: The document, of the collection for which this was resolved.
  /// - Returns: False also where the queries fail on it.
  /// - Complexity: That of the same queries as subscriptions; nothing is allocated for most predicates.
  package func allows(_ id: RawSpan, _ record: borrowing RecordView) -> Bool {
    !isNothing && (predicates.acceptsAll || predicates.accepts(id, record))
  }

  /// Whether the document with an id is allowed, where the rule depends on ids alone.
  ///
  /// - Parameter id: The bytes of the id.
  /// - Returns: False for a rule that depends on more: there the document itself is needed.
  /// - Complexity: As for a record.
  package func allows(id: RawSpan) -> Bool {
    guard dependsOnIDAlone, !isNothing else { return false }
    if predicates.acceptsAll { return true }
    return Self.emptyRecord?.withView { predicates.accepts(id, $0) } ?? false
  }

  /// The record of a document without fields.
  private static let emptyRecord: Record? = {
    var tables = RecordTables()
    let stamping = Stamping(site: SiteID(high: 0, low: 1), reading: ClockReading(rawValue: 1))
    let encoded = try? DocumentCodec.upsert(
      [:], strategy: .merge, existing: nil, stamping: stamping, tables: &tables)
    return encoded.map { Record(bytes: $0.record) }
  }()

  /// The same for a document's values; a slow path, for tests and for documents that are in no store.
  package func allows(_ id: DocumentID, _ fields: [TextKey: Value]) -> Bool {
    if predicates.acceptsAll { return true }
    var members = fields
    members["_id"] = id.value
    let document = Value.map(members)
    return parts.contains { part in
      guard part.mayAccept, let predicate = part.predicate else { return false }
      return predicate.accepts { document.value(at: $0) }
    }
  }

  /// Why a document is not allowed: a line for each query, which names the conditions that are not true.
  ///
  /// - Parameters:
  ///   - id: The document's id.
  ///   - record: The document.
  ///   - keys: The keys of its collection.
  /// - Returns: The lines; empty if the rules have no query for the collection.
  /// - Complexity: O(*n*) in the queries' nodes.
  package func refusals(
    of id: DocumentID, _ record: borrowing RecordView, _ keys: KeyTable
  ) -> [String] {
    var lines: [String] = []
    for part in parts {
      if let reason = part.refusal {
        lines.append(reason)
      } else if let predicate = part.predicate {
        lines.append(predicate.unmetConditions(of: id, record, keys).joined(separator: " AND "))
      }
    }
    return lines
  }
}

extension CollectionRule.Part {
  /// Why the query accepts no document of the user; `nil` if it has a predicate.
  package var refusal: String? {
    if !missing.isEmpty {
      return "no value for " + missing.map { ":" + $0.text }.joined(separator: " and ")
    }
    return failure
  }
}
