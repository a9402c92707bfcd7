package import CRDTCore

/// Many predicates on the documents of one collection, any of which is enough.
///
/// Those that demand that a field, or the id, equals a constant are found by what a document has there, and those that
/// look for a text by going once through the field's. So a document costs the predicates that may accept it and not all
/// there are. What these need of a text with small letters is made once.
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

  /// So few are asked one after the other.
  private static let few = 4

  private var matchers: [RecordMatcher] = []
  /// Those that nothing rules out.
  private var unconditional: [Int] = []
  private var byID: [DocumentID: [Int]] = [:]
  private var fields: [FieldPath: Field] = [:]
  private var texts: [FieldPath: TextField] = [:]
  private var keyCount = -1
  /// Whether one of the predicates is none: nothing needs to be looked at.
  package private(set) var acceptsAll = false

  package init() {}

  /// Bytes of memory of the tables in which constants are looked up.
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
      // Changed where it stands: taken out and put back, all that is there would be copied for each predicate.
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

  /// Whether one of the predicates accepts a document; that it is alive is the caller's to check.
  ///
  /// - Complexity: O(*p* + *t* + *m*) for *p* fields that are compared, *t* bytes of fields in which texts are looked for,
  ///   and *m* predicates that may accept it.
  package func accepts(_ id: RawSpan, _ record: borrowing RecordView) -> Bool {
    if matchers.count <= Self.few {
      for matcher in matchers where matcher.matches(id, record) { return true }
      return false
    }
    let folded = FoldedTexts()
    return contains(id, record, folded) { matchers[$0].matches(id, record, folded) }
  }

  /// The predicates that are asked about a document where none accepts it, by their places in the order of insertion.
  package func candidates(_ id: RawSpan, _ record: borrowing RecordView) -> [Int] {
    if matchers.count <= Self.few { return Array(matchers.indices) }
    var candidates: [Int] = []
    _ = contains(id, record, FoldedTexts()) {
      candidates.append($0)
      return false
    }
    return candidates
  }

  /// Whether `accepts` accepts one of those that may accept a document.
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
