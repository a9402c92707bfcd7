import CRDTCore
import DocStore
import QueryEngine
import TestKit

extension QueryDraws {
  // MARK: Indexes

  /// Indexes of one or more fields, among them small letters and elements.
  mutating func indexes(of collection: String) -> [IndexDefinition] {
    (0..<5).map { number in
      var fields = number == 4 && random.oneIn(2) ? [IndexField([Self.flagField])] : []
      var hasElements = false
      for _ in 0...(number < 2 ? 0 : random.int(below: 3)) {
        let field: IndexField
        switch random.int(below: 8) {
        case 7: field = IndexField([Self.numberField], descending: random.oneIn(2))
        case 0 where !hasElements:
          hasElements = true
          field = IndexField([Self.listField], part: .elements, descending: random.oneIn(2))
        case 1: field = IndexField([Self.textField], part: .lowercase, descending: random.oneIn(2))
        default: field = IndexField(path().keyNames, descending: random.oneIn(2))
        }
        if !fields.contains(where: { $0.path == field.path && $0.part == field.part }) {
          fields.append(field)
        }
      }
      return IndexDefinition(name: "i\(number)", collection: collection, fields: fields)
    }
  }

  // MARK: Queries

  /// A query on documents of `collection`; its ORDER BY names only what its rows show.
  mutating func select(from collection: String, _ indexes: [IndexDefinition]) -> Select {
    var select = Select(collection: collection, predicate: random.oneIn(7) ? nil : predicate(depth: 2))
    switch random.int(below: 10) {
    case 0, 1: select.projection = .countAll(alias: "count")
    case 2, 3, 4: select.projection = .columns(columns(indexes))
    case 5:
      select.projection = .columns(columns(indexes))
      select.distinct = true
      if random.oneIn(2) { select.predicate = nil }
      // Few different values, of which an index passes over those that repeat.
      if random.oneIn(3) { select.projection = .columns([Self.flagColumn]) }
    case 6: group(&select, indexes)
    default: break
    }
    order(&select)
    hint(&select.source.hints, indexes)
    if random.oneIn(8) {
      let bounds = (0..<2).map { _ in bound(random.pick(indexes)) }
      select.predicate = random.oneIn(2) ? .and(bounds) : .or(bounds)
      select.source.hints.indexes = indexes.map(\.$name)
    } else if random.oneIn(12) {
      // A count by rows of which some have only the beginning of their values.
      select = Select(
        from: select.source, projection: .countAll(alias: "count"),
        predicate: .binary(
          random.pick([.less, .lessOrEqual, .greater, .equal]), .path([.key(Self.textField)]),
          .literal(.string(long()))))
    }
    if random.oneIn(oneLongListIn) { askForMany(&select) }
    return select
  }

  /// What leaves about a third of an index's rows, so that two of them are worth reading.
  private mutating func bound(_ index: IndexDefinition) -> Expression {
    let field = index.fields[0]
    let path = Expression.path(field.path.map { .key($0) })
    let constant = Expression.literal(random.oneIn(2) ? .string(text()) : .int(Int64(random.int(below: 4))))
    return .binary(
      random.pick([.less, .greaterOrEqual]), field.part == .lowercase ? .call(.lower, [path]) : path, constant
    )
  }

  /// Nothing but a long list stands between the rows of an index and the answer.
  private mutating func askForMany(_ select: inout Select) {
    let path = Expression.path([.key(random.oneIn(2) ? Self.numberField : Self.anyFields[0])])
    select.predicate = .in(path, .literal(.array(longList())), negated: random.oneIn(3))
    select.groups = []
    select.projection =
      random.oneIn(2) ? .countAll(alias: "count") : .columns([Select.Column(expression: path, name: "c0")])
    (select.order, select.distinct) = ([], false)
  }

  private static let flagColumn = Select.Column(expression: .path([.key(flagField)]), name: "c0")

  /// What an index has in its rows, so that these may do.
  private mutating func columns(_ indexes: [IndexDefinition]) -> [Select.Column] {
    let fields = random.pick(indexes).fields.filter { $0.part == .value }
    let paths = fields.isEmpty || random.oneIn(5) ? [path()] : fields.map { $0.path.map { .key($0) } }
    return paths.enumerated().map { Select.Column(expression: .path($1), name: "c\($0)") }
  }

  private mutating func group(_ select: inout Select, _ indexes: [IndexDefinition]) {
    let field = Expression.path(path())
    var aggregates: [Expression] = [
      .aggregate(.count, distinct: false, nil), .aggregate(.count, distinct: false, field),
      .aggregate(.min, distinct: false, field), .aggregate(.max, distinct: false, field),
      .aggregate(.sum, distinct: false, .path([.key(Self.numberField)])),
    ]
    // The ends of an index tell both, where nothing else is asked.
    if random.oneIn(3) {
      aggregates = Array(aggregates[2...3])
      if random.oneIn(2) { select.predicate = nil }
    }
    var columns = aggregates.enumerated().map { Select.Column(expression: $1, name: "g\($0)") }
    if random.oneIn(2) {
      select.groups = (0...random.int(below: 2)).map { _ in Expression.path(path()) }
      columns += select.groups.enumerated().map { Select.Column(expression: $1, name: "k\($0)") }
    }
    select.projection = .columns(columns)
    select.distinct = random.oneIn(4)
  }

  private mutating func order(_ select: inout Select) {
    var shown: [Expression] = []
    switch select.projection {
    case .countAll: return
    case .columns(let columns): shown = columns.map(\.expression).filter { !$0.isAggregate }
    case .all, .elements: shown = (0..<3).map { _ in .path(path()) }
    }
    if !shown.isEmpty, random.oneIn(2) {
      for _ in 0...random.int(below: 2) {
        select.order.append(SortKey(expression: random.pick(shown), descending: random.oneIn(2)))
      }
    }
    if random.oneIn(3) { select.limit = .literal(.int(Int64(random.pick([0, 1, 2, 5, 20])))) }
    if random.oneIn(6) { select.offset = .literal(.int(Int64(random.int(below: 4)))) }
  }

  /// Of so few documents most are wanted, so that indexes are used where they are asked for.
  mutating func hint(_ hints: inout Hints, _ indexes: [IndexDefinition]) {
    switch random.int(below: 6) {
    case 0: hints.indexes = []
    case 1: hints.indexes = [random.pick(indexes).$name]
    case 2: break
    default: hints.indexes = indexes.map(\.$name)
    }
    if random.oneIn(4) { hints.prefersOrder = true }
    if random.oneIn(8) { hints.maximumScans = random.pick([1, 2, 3]) }
  }

  // MARK: Writes

  /// Adds to every document that it finds, so that one found twice shows.
  mutating func update(_ collection: String, _ indexes: [IndexDefinition]) -> Update {
    var target = Source(collection)
    hint(&target.hints, indexes)
    var update = Update(
      target, applications: [.init(path: [Self.numberField], operation: .increment(.literal(.int(1))))],
      predicate: predicate(depth: 2), returning: .all)
    switch random.int(below: 4) {
    case 0: update.assignments = [.init(path: [Self.textField], value: .literal(.string(text())))]
    case 1: update.assignments = [.init(path: [Self.anyFields[0]], value: .literal(scalar()))]
    case 2: update.removals = [[random.pick(Self.anyFields)]]
    default: break
    }
    return update
  }

  mutating func removal(_ collection: String, _ indexes: [IndexDefinition]) -> Removal {
    var source = Source(collection)
    hint(&source.hints, indexes)
    var removal = Removal(from: source, predicate: predicate(depth: 2), returning: .all)
    if random.oneIn(3) {
      removal.order = [SortKey(expression: .path(path()), descending: random.oneIn(2))]
      removal.limit = .literal(.int(Int64(random.int(below: 6))))
    }
    return removal
  }
}

extension FieldPath {
  var keyNames: [TextKey] {
    compactMap { if case .key(let name) = $0 { name } else { nil } }
  }
}
