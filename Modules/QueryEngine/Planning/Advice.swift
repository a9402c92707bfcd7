package import CRDTCore
import DocStore

/// The result of ADVISE for a statement: the indexes that it uses, and those that would be better.
package struct Advice: Hashable, Sendable {
  /// Indexes that do not exist yet.
  ///
  /// The first fields are those that the filter compares with single values, then one for which it has a
  /// range, then those of the order.
  package private(set) var suggestions: [CreateIndex] = []
  /// The names of the indexes that the statement's plan uses.
  package private(set) var existing: [String] = []
  package private(set) var outcome = ""

  /// The most fields of one index.
  private static let maximumFields = 8

  /// - Throws: `unsupported` for a statement that does not search for documents; what planning throws.
  package init(
    _ statement: Statement, arguments: [TextKey: Value], catalogue: QueryCatalogue
  ) throws(QueryError) {
    let plan: Plan
    switch statement {
    case .select(let select): plan = try Planner.plan(select, arguments: arguments, catalogue: catalogue)
    case .update(let update): plan = try Planner.plan(update, arguments: arguments, catalogue: catalogue)
    case .delete(let removal), .evict(let removal):
      plan = try Planner.plan(removal, arguments: arguments, catalogue: catalogue)
    case .compound, .insert, .createIndex, .dropIndex, .alterSystem, .show, .explain, .profile, .advise:
      throw QueryError(.unsupported, "ADVISE takes a SELECT, UPDATE, DELETE or EVICT")
    }
    existing = plan.access.indexNames
    switch plan.access {
    case .virtual: outcome = "a virtual collection has no indexes"
    case .ids: outcome = "the documents are found by their ids"
    case .collectionScan, .idRange, .index, .union, .intersection: suggest(plan, catalogue)
    }
  }

  private mutating func suggest(_ plan: Plan, _ catalogue: QueryCatalogue) {
    let condition = plan.filter.map { Condition($0) } ?? .everything
    let wishes = condition.branches.map { IndexWish($0, plan.order) }
    // An OR can use indexes only if each of its branches can.
    guard !wishes.contains(where: \.keys.isEmpty) else {
      outcome = "no index can serve the statement"
      return
    }
    let indexes = catalogue[plan.collection]?.indexes ?? []
    var names = Set(indexes.map(\.definition.$name))
    for wish in wishes where !indexes.contains(where: { wish.isServed(by: $0.definition.fields) }) {
      let keys = Array(wish.keys.prefix(Self.maximumFields))
      guard !suggestions.contains(where: { $0.keys == keys }) else { continue }
      let name = Self.name(plan.collection, keys, besides: names)
      names.insert(TextKey(name))
      suggestions.append(CreateIndex(name, on: plan.collection, keys))
    }
    outcome =
      suggestions.isEmpty ? "existing indexes serve the statement" : "new indexes would serve the statement"
  }

  private static func name(_ collection: String, _ keys: [CreateIndex.Key], besides taken: Set<TextKey>)
    -> String
  {
    let words = ["ix", collection] + keys.flatMap(\.path).map(\.text)
    let plain = words.joined(separator: "_").unicodeScalars.prefix(80).map { scalar in
      scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) ? String(scalar) : "_"
    }
    let name = plain.joined()
    var candidate = name
    var number = 2
    while taken.contains(candidate) {
      candidate = "\(name)_\(number)"
      number += 1
    }
    return candidate
  }

  /// The result row of ADVISE.
  package var row: [TextKey: Value] {
    [
      "suggestions": .array(suggestions.map { .string(Statement.createIndex($0).description) }),
      "existing": .array(existing.map { .string($0) }), "outcome": .string(outcome),
    ]
  }
}

/// The fields of the best index for a condition and an order.
private struct IndexWish {
  /// Fields that are compared with single values, in any order.
  private var constants: [IndexTerm] = []
  private var rest: [IndexKey] = []

  private struct IndexKey: Hashable {
    let term: IndexTerm
    var descending = false
  }

  init(_ condition: Condition, _ order: [SortKey]) {
    let elements = condition.fields.first { $0.term.part == .elements }?.term
    // An index contains the elements of only one array.
    let fields = condition.fields.filter { $0.term.part != .elements || $0.term == elements }
    constants = fields.filter { $0.set.isPoint }.map(\.term)
    let others = fields.filter { !$0.set.isPoint }
    // A list of values goes before a range, since more of the fields after it can be used.
    if let field = others.first(where: { $0.set.isPoints }) ?? others.first {
      rest.append(IndexKey(term: field.term))
    }
    addOrder(order)
  }

  private mutating func addOrder(_ order: [SortKey]) {
    var keys: [IndexKey] = []
    for key in order {
      guard let term = IndexTerm(key.expression) else { return }
      guard !constants.contains(term), !keys.contains(where: { $0.term == term }) else { continue }
      keys.append(IndexKey(term: term, descending: key.descending))
    }
    guard let first = keys.first else { return }
    // After a range, the rows are not in the order of further fields.
    if rest.isEmpty || rest[0].term == first.term { rest = keys }
  }

  var keys: [CreateIndex.Key] {
    constants.map { CreateIndex.Key($0) } + rest.map { CreateIndex.Key($0.term, descending: $0.descending) }
  }

  /// Whether an index with these fields is as good.
  func isServed(by fields: [IndexField]) -> Bool {
    guard fields.count >= constants.count + rest.count,
      Set(fields.prefix(constants.count).map(\.term)) == Set(constants)
    else { return false }
    let behind = fields.dropFirst(constants.count)
    guard zip(rest, behind).allSatisfy({ $0.term == $1.term }) else { return false }
    let turned = Set(zip(rest, behind).map { $0.descending != $1.isDescending })
    return turned.count <= 1
  }
}

extension CreateIndex.Key {
  init(_ term: IndexTerm, descending: Bool = false) {
    let part: Part =
      switch term.part {
      case .value: .value
      case .lowercase: .lowercase
      case .elements: .elements
      }
    self.init(term.path, part: part, descending: descending)
  }
}

extension Condition {
  /// The conditions of each case in which a document can satisfy it.
  fileprivate var branches: [Condition] {
    switch kind {
    case .any(let branches): branches
    case .always, .never, .field, .all: [self]
    }
  }

  /// The fields with a condition in any case, in the order of the text.
  fileprivate var fields: [(term: IndexTerm, set: ValueSet)] {
    switch kind {
    case .field(let term, let set): return [(term, set)]
    case .all(let terms): return terms.flatMap(\.fields)
    case .always, .never, .any: return []
    }
  }
}

extension AccessPath {
  /// The indexes that it reads, each once.
  var indexNames: [String] {
    switch self {
    case .index(let scan): return [scan.index.definition.name]
    case .union(let scans), .intersection(let scans):
      var names: [String] = []
      for name in scans.map(\.index.definition.name) where !names.contains(where: name.isSame) {
        names.append(name)
      }
      return names
    case .collectionScan, .ids, .idRange, .virtual: return []
    }
  }
}
