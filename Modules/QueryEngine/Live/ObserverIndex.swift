import CRDTCore
package import DocStore
import Failpoints

/// Finds, among many queries, those that a commit may concern, without testing each.
///
/// A query whose predicate demands that a field, or the id, equals a constant is found by the values of that
/// field in the touched documents, before and after. Every other query of a collection is always found.
///
/// It is a pure value. The caller tests the predicates of the queries it finds again, so finding too many
/// does no harm.
package struct ObserverIndex: Sendable {
  /// The id of a query; the caller that inserts the query chooses it.
  package typealias ID = UInt64

  private struct Place {
    let collection: TextKey
    let condition: ObserverCondition
  }

  private var tables: [TextKey: ObserverTable] = [:]
  private var places: [ID: [Place]] = [:]

  package init() {}

  package var isEmpty: Bool { places.isEmpty }

  /// Registers a query for changes of a collection; a query on several collections is registered for each.
  ///
  /// - Parameters:
  ///   - id: The query.
  ///   - collection: A collection that it reads.
  ///   - predicate: The bound condition on documents that matter; `nil` when all of them matter.
  package mutating func insert(_ id: ID, collection: String, predicate: Expression?) {
    let place = Place(collection: TextKey(collection), condition: ObserverCondition(predicate))
    places[id, default: []].append(place)
    tables[place.collection, default: ObserverTable()].insert(id, place.condition)
  }

  /// Removes a query; an unknown one is ignored.
  package mutating func remove(_ id: ID) {
    for place in places.removeValue(forKey: id) ?? [] {
      tables[place.collection]?.remove(id, place.condition)
      if tables[place.collection]?.isEmpty == true { tables[place.collection] = nil }
    }
  }

  /// The queries whose results the commit may change, ascending.
  ///
  /// - Complexity: O(*c* · *p* + *f* log *f*) for *c* changes, *p* fields that queries of their collections
  ///   compare, and *f* queries found; the number of the others does not matter.
  package mutating func affected(by commit: Commit) -> [ID] {
    var found: Set<ID> = []
    var visited: Set<TextKey> = []
    var latest: Collection?
    for change in commit.changes {
      let collection: Collection
      if let latest, latest.id == change.key.collection {
        collection = latest
      } else {
        collection = change.collection
        latest = collection
        if visited.insert(TextKey(collection.name)).inserted {
          found.formUnion(tables[collection.name]?.unconditional ?? [])
        }
      }
      tables[collection.name]?.find(change, collection.keys, &found)
    }
    return found.sorted()
  }
}

/// The queries of one collection.
private struct ObserverTable: Sendable {
  /// The queries that compare one field with constants.
  private struct Field: Sendable {
    var path: ResolvedField
    var observers: [ValueHash: Set<ObserverIndex.ID>] = [:]
  }

  private(set) var unconditional: Set<ObserverIndex.ID> = []
  private var byID: [DocumentID: Set<ObserverIndex.ID>] = [:]
  private var fields: [FieldPath: Field] = [:]
  /// The number of keys in the table in which the fields were last resolved.
  private var keyCount = 0

  var isEmpty: Bool { unconditional.isEmpty && byID.isEmpty && fields.isEmpty }

  mutating func insert(_ id: ObserverIndex.ID, _ condition: ObserverCondition) {
    switch condition {
    case .anything, .texts:
      unconditional.insert(id)
    case .ids(let ids):
      for document in ids { byID[document, default: []].insert(id) }
    case .field(let path, let values):
      var field = fields.removeValue(forKey: path) ?? Field(path: ResolvedField(path))
      // A new field is resolved before the next change is read.
      keyCount = -1
      for hash in values.compactMap({ ValueHash($0) }) { field.observers[hash, default: []].insert(id) }
      if !field.observers.isEmpty { fields[path] = field }
    }
  }

  mutating func remove(_ id: ObserverIndex.ID, _ condition: ObserverCondition) {
    switch condition {
    case .anything, .texts:
      unconditional.remove(id)
    case .ids(let ids):
      for document in ids {
        byID[document]?.remove(id)
        if byID[document]?.isEmpty == true { byID[document] = nil }
      }
    case .field(let path, let values):
      for hash in values.compactMap({ ValueHash($0) }) {
        fields[path]?.observers[hash]?.remove(id)
        if fields[path]?.observers[hash]?.isEmpty == true { fields[path]?.observers[hash] = nil }
      }
      if fields[path]?.observers.isEmpty == true { fields[path] = nil }
    }
  }

  /// Finds the queries with conditions that a changed document satisfies now, or did before.
  mutating func find(_ change: Change, _ keys: KeyTable, _ found: inout Set<ObserverIndex.ID>) {
    if let observers = byID[change.id] { found.formUnion(observers) }
    guard !fields.isEmpty else { return }
    if keyCount != keys.count {
      keyCount = keys.count
      for path in fields.keys { fields[path]?.path.resolve(keys) }
    }
    if !QueryDefect.observerIndexForgetsBefore.isPlanted { find(change.before, &found) }
    find(change.after, &found)
  }

  private func find(_ record: Record?, _ found: inout Set<ObserverIndex.ID>) {
    record?.withView { view in
      guard view.isAlive else { return }
      for field in fields.values {
        guard let value = view.value(at: field.path.path), let hash = ValueHash(value),
          let observers = field.observers[hash]
        else { continue }
        found.formUnion(observers)
      }
    }
  }
}
