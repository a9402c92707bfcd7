package import CRDTCore

/// Many predicates on the documents of one collection; a document must satisfy at least one of them.
///
/// If a predicate demands that a field, or the id, equals a constant, it is found by the document's value
/// there. If it searches for a text, it is found by one pass over the field's text. So the cost of a document
/// depends on the predicates that may accept it, and not on their number. The texts in lower case are made
/// once for all predicates.
package struct PredicateUnion: Sendable {
  /// Predicates that compare one field with constants.
  private struct Field: Sendable {
    var path: ResolvedField
    private var constants = ConstantTable()

    init(path: ResolvedField) { self.path = path }

    var constantBytes: Int { constants.byteCount }

    mutating func add(_ place: Int, under values: some Sequence<Value>) {
      for hash in Set(values.compactMap { ValueHash($0) }) { constants.add(place, under: hash) }
    }

    func contains(_ value: borrowing ValueRef, where accepts: (Int) -> Bool) -> Bool {
      guard let hash = ValueHash(value) else { return false }
      return constants.contains(hash, where: accepts)
    }
  }

  /// Predicates that look for texts in one field.
  private struct TextField: Sendable {
    var path: ResolvedField
    var grams = GramIndex()
  }

  /// The greatest number of predicates that are tested one after the other.
  private static let few = 4

  private var matchers: [RecordMatcher] = []
  /// The predicates that must always be tested.
  private var unconditional: [Int] = []
  private var byID: [DocumentID: [Int]] = [:]
  private var fields: [FieldPath: Field] = [:]
  private var texts: [FieldPath: TextField] = [:]
  private var keyCount = -1
  /// Whether one of the predicates accepts every document, so that none needs to be tested.
  package private(set) var acceptsAll = false

  package init() {}

  /// The bytes of memory of the tables for lookups of constants.
  package var constantBytes: Int { fields.values.reduce(0) { $0 + $1.constantBytes } }

  /// - Complexity: O(*v*) for *v* constants and the bytes of its texts.
  package mutating func insert(_ predicate: CompiledPredicate) {
    let place = matchers.count
    matchers.append(predicate.matcher)
    if predicate.expression == nil { acceptsAll = true }
    keyCount = -1
    switch ObserverCondition(predicate.expression) {
    case .anything: unconditional.append(place)
    case .ids(let ids):
      for id in ids { byID[id, default: []].append(place) }
    case .field(let path, let values):
      // The dictionary's value is changed in place; otherwise it would be copied for each predicate.
      fields[path, default: Field(path: ResolvedField(path))].add(place, under: values)
    case .texts(let sought):
      for text in sought {
        texts[text.path, default: TextField(path: ResolvedField(text.path))]
          .grams.insert(place, under: text.bytes)
      }
    }
  }

  /// Looks up the predicates' keys, once for each version of a collection's key table.
  package mutating func resolve(_ keys: KeyTable) {
    guard keyCount != keys.count else { return }
    keyCount = keys.count
    for index in matchers.indices { matchers[index].resolve(keys) }
    for path in fields.keys { fields[path]?.path.resolve(keys) }
    for path in texts.keys { texts[path]?.path.resolve(keys) }
  }

  /// Whether one of the predicates accepts a document.
  ///
  /// The caller must check that the document is not a tombstone.
  ///
  /// - Complexity: O(*p* + *t* + *m*) for *p* fields that are compared, *t* bytes of fields in which texts
  ///   are sought, and *m* predicates that may accept it.
  package func accepts(_ id: RawSpan, _ record: borrowing RecordView) -> Bool {
    if matchers.count <= Self.few {
      for matcher in matchers where matcher.matches(id, record) { return true }
      return false
    }
    let folded = FoldedTexts()
    return contains(id, record, folded) { matchers[$0].matches(id, record, folded) }
  }

  /// The predicates that are tested for a document that none accepts, by their order of insertion.
  package func candidates(_ id: RawSpan, _ record: borrowing RecordView) -> [Int] {
    if matchers.count <= Self.few { return Array(matchers.indices) }
    var candidates: [Int] = []
    _ = contains(id, record, FoldedTexts()) {
      candidates.append($0)
      return false
    }
    return candidates
  }

  /// Whether `accepts` accepts one of the predicates that may accept a document.
  private func contains(
    _ id: RawSpan, _ record: borrowing RecordView, _ folded: FoldedTexts, where accepts: (Int) -> Bool
  ) -> Bool {
    for place in unconditional where accepts(place) { return true }
    if !byID.isEmpty {
      for place in byID[DocumentID(copying: id)] ?? [] where accepts(place) { return true }
    }
    for field in fields.values {
      guard let value = record.value(at: field.path.path) else { continue }
      if field.contains(value, where: accepts) { return true }
    }
    var visited = VisitedNumbers()
    for field in texts.values {
      guard let value = record.value(at: field.path.path), value.kind == .string else { continue }
      let text = folded.folded(value.bytes, of: record.bytes)
      if field.grams.contains(in: text.span.bytes, visited: &visited, where: accepts) { return true }
    }
    return false
  }
}
