package import CRDTCore

/// Documents on which a live query's result depends: those of a collection that match a condition.
///
/// Other documents can change without effect on the result. The condition may be too wide, and is never too
/// narrow.
package struct LiveDependency: Hashable, Sendable {
  @TextKey package private(set) var collection: String
  /// The condition, bound, on one document; `nil` when every document matters.
  package let filter: Expression?
}

extension Statement {
  /// The dependencies of a query's rows, source by source.
  ///
  /// - Throws: `argument` for a parameter without a value; `unsupported` for an unknown virtual collection.
  func dependencies(_ arguments: [TextKey: Value]) throws(QueryError) -> [LiveDependency] {
    var dependencies: [LiveDependency] = []
    for select in selects {
      for index in 0...select.joins.count {
        guard try SystemCollection.named(select.source(index).collection) == nil else { continue }
        let dependency = LiveDependency(
          collection: select.source(index).collection,
          filter: try Expression.all(select.terms(concerning: index))?.binding(arguments))
        if !dependencies.contains(dependency) { dependencies.append(dependency) }
      }
    }
    return dependencies
  }

  /// Whether it reads data that changes without a commit.
  var readsSystem: Bool {
    get throws(QueryError) { try virtualCollections.contains { $0 != .dual } }
  }

  /// Refuses a query that would cost too much to be run again and again.
  ///
  /// - Throws: `unsupported`.
  func checkMayBePolled() throws(QueryError) {
    guard try virtualCollections.contains(.largeDocuments) else { return }
    throw QueryError(
      .unsupported,
      "system:large_documents cannot be observed: each run looks at the sizes of all documents")
  }

  private var virtualCollections: Set<SystemCollection> {
    get throws(QueryError) {
      var found: Set<SystemCollection> = []
      for select in selects {
        for index in 0...select.joins.count {
          let virtual = try SystemCollection.named(select.source(index).collection)
          if let virtual { found.insert(virtual) }
        }
      }
      return found
    }
  }
}

extension Select {
  /// The sources, counted from 0 in the order of the text.
  fileprivate func source(_ index: Int) -> Source { index == 0 ? source : joins[index - 1].source }

  /// The conditions on single documents of a source that decide whether a document matters.
  ///
  /// WHERE does not count for a source that may be absent from a row: a partner that WHERE refuses still
  /// prevents the row without a partner. ON does not count for the side whose rows are all kept.
  fileprivate func terms(concerning index: Int) -> [Expression] {
    let isRight = joins.first?.kind == .right
    let joining = index == 0 ? (isRight ? joins.first : nil) : joins[index - 1]
    let isDriving = index == 1 && isRight
    let mayBeLeftOut = index == 0 ? isRight : !isDriving && joins[index - 1].kind == .left
    var terms: [Expression] = []
    if !mayBeLeftOut { terms += predicate?.conjuncts ?? [] }
    if !isDriving { terms += joining?.condition.conjuncts ?? [] }
    return terms.compactMap { term in
      guard term.isDeterministic, term.sources == [index] else { return nil }
      return term.onlySource(index)
    }
  }
}
