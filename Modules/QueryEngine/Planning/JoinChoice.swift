import CRDTCore
import DocStore

/// Chooses how to find the documents of one source that match a row of the sources before it.
struct JoinChoice {
  private let source: Int
  private let hints: Hints
  private let collection: String
  private let name: String
  /// Fields of this source, and the values that they must equal, which read only sources before it.
  private var equalities: [(path: FieldPath, value: Expression)] = []

  init(_ source: Int, _ description: Source, _ earlier: Set<Int>, _ condition: Expression) {
    self.source = source
    hints = description.hints
    collection = description.collection
    name = description.name
    for term in condition.conjuncts {
      guard case .binary(.equal, let left, let right) = term, Collation.ruling([left, right]) == nil else {
        continue
      }
      for (field, value) in [(left, right), (right, left)] {
        guard case .field(source, let path) = field, !path.isEmpty, value.sources.isSubset(of: earlier),
          value.isDeterministic, !value.makesDecimals
        else { continue }
        equalities.append((path, value))
      }
    }
  }

  /// - Throws: `unsupported` where only trying all documents is possible, and the query does not ask for
  ///   that.
  func method(
    _ catalogue: QueryCatalogue, _ layout: FrameLayout, _ arguments: [TextKey: Value]
  ) throws(QueryError) -> StagedPlan.JoinMethod {
    let isVirtual = try SystemCollection.named(collection) != nil
    let byID = isVirtual ? nil : equalities.first { $0.path == [.key("_id")] }
    if let byID { return .id(try layout.bound(byID.value, arguments)) }
    let scans = hints.indexes == [] || isVirtual
    if !scans, let (index, value) = index(among: catalogue[collection]?.indexes ?? []) {
      return .index(index, try layout.bound(value, arguments))
    }
    guard scans else {
      throw QueryError(
        .unsupported,
        "Joining to \"\(name)\" disallowed without appropriate index support: create an index on the field that "
          + "ON compares (ADVISE says which), or add USE INDEX '' to try all documents")
    }
    guard let equality = equalities.first else { return .scan }
    return .hash(
      partner: .path([.index(layout.slot(source, equality.path))]),
      row: try layout.bound(equality.value, arguments))
  }

  private func index(among indexes: [IndexInfo]) -> (IndexInfo, Expression)? {
    let named = indexes.filter { hints.indexes?.contains($0.definition.$name) ?? true }
    for index in named.isEmpty ? indexes : named where !index.definition.hasElements {
      guard let field = index.definition.fields.first, field.part == .value else { continue }
      let path = field.path.map(PathComponent.key)
      if let equality = equalities.first(where: { $0.path == path }) { return (index, equality.value) }
    }
    return nil
  }
}
