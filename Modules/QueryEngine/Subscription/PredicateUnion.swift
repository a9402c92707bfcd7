package import CRDTCore

/// Many predicates on the documents of one collection, any of which is enough.
///
/// Those that demand that a field, or the id, equals a constant are found by what a document has there, so that
/// a document costs the predicates that may accept it and not all there are.
package struct PredicateUnion: Sendable {
  /// Predicates that compare one field with constants.
  private struct Field: Sendable {
    var path: ResolvedField
    var places: [ValueHash: [Int]] = [:]

    mutating func add(_ place: Int, under values: some Sequence<Value>) {
      for hash in Set(values.compactMap { ValueHash($0) }) { places[hash, default: []].append(place) }
    }
  }

  /// So few are asked one after the other.
  private static let few = 4

  private var matchers: [RecordMatcher] = []
  /// Those that nothing rules out.
  private var unconditional: [Int] = []
  private var byID: [DocumentID: [Int]] = [:]
  private var fields: [FieldPath: Field] = [:]
  private var keyCount = -1
  /// Whether one of the predicates is none: nothing needs to be looked at.
  package private(set) var acceptsAll = false

  package init() {}

  /// - Complexity: O(*v*) for *v* constants.
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
    }
  }

  /// Looks up the predicates' keys, once for each version of a collection's key table.
  package mutating func resolve(_ keys: KeyTable) {
    guard keyCount != keys.count else { return }
    keyCount = keys.count
    for index in matchers.indices { matchers[index].resolve(keys) }
    for path in fields.keys { fields[path]?.path.resolve(keys) }
  }

  /// Whether one of the predicates accepts a document; that it is alive is the caller's to check.
  ///
  /// - Complexity: O(*p* + *m*) for *p* fields that are compared and *m* predicates that may accept it.
  package func accepts(_ id: RawSpan, _ record: borrowing RecordView) -> Bool {
    if matchers.count <= Self.few {
      for matcher in matchers where matcher.matches(id, record) { return true }
      return false
    }
    for place in unconditional where matchers[place].matches(id, record) { return true }
    if !byID.isEmpty {
      for place in byID[DocumentID(copying: id)] ?? [] where matchers[place].matches(id, record) {
        return true
      }
    }
    for field in fields.values {
      guard let value = record.value(at: field.path.path), let hash = ValueHash(value) else { continue }
      for place in field.places[hash] ?? [] where matchers[place].matches(id, record) { return true }
    }
    return false
  }
}
