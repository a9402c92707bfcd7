package import CRDTCore

/// A collection that a statement uses, and what for.
package struct CollectionUse: Hashable, Sendable {
  /// The collection, or `system:name`.
  package let collection: TextKey
  /// Whether the statement writes there; otherwise it reads.
  package let isWrite: Bool
}

extension Statement {
  /// Every collection that the statement reads or writes, also in inner queries.
  ///
  /// It is `nil` for a statement about the whole database.
  package var uses: [CollectionUse]? {
    switch self {
    case .select(let select): return select.uses
    case .compound(let compound):
      let bounds = [compound.limit, compound.offset].compactMap(\.self)
      return compound.body.uses + (compound.order.map(\.expression) + bounds).uses
    case .insert(let insert):
      let content: [CollectionUse]
      switch insert.content {
      case .documents(let documents): content = documents.uses
      case .query(let select): content = select.uses
      }
      return [.write(insert.target)] + content + (insert.returning?.columnExpressions ?? []).uses
    case .update(let update):
      let bounds = [update.limit, update.offset].compactMap(\.self)
      return [.write(update.target)] + (update.expressions + bounds).uses
    case .delete(let removal), .evict(let removal):
      let bounds = [removal.limit, removal.offset].compactMap(\.self)
      return [.write(removal.target)] + (removal.expressions + bounds).uses
    case .createIndex(let index): return [CollectionUse(collection: index.$collection, isWrite: true)]
    case .dropIndex(let index): return [CollectionUse(collection: index.$collection, isWrite: true)]
    case .explain(let statement), .profile(let statement): return statement.uses
    case .advise(let statement, let provisioning):
      guard let uses = statement.uses, provisioning else { return statement.uses }
      // It makes indexes.
      return uses.map { CollectionUse(collection: $0.collection, isWrite: true) }
    case .alterSystem, .show: return nil
    }
  }
}

extension CollectionUse {
  fileprivate static func read(_ source: Source) -> CollectionUse {
    CollectionUse(collection: source.$collection, isWrite: false)
  }

  fileprivate static func write(_ source: Source) -> CollectionUse {
    CollectionUse(collection: source.$collection, isWrite: true)
  }
}

extension Select {
  fileprivate var uses: [CollectionUse] {
    [.read(source)] + joins.map { .read($0.source) } + expressions.uses
  }
}

extension CompoundSelect.Operand {
  fileprivate var uses: [CollectionUse] {
    switch self {
    case .select(let select): select.uses
    case .combined(_, _, let left, let right): left.uses + right.uses
    }
  }
}

extension Select.Projection {
  fileprivate var columnExpressions: [Expression] {
    var found: [Expression] = []
    // A projection is a value, and the only walk over its columns changes it.
    _ = mapColumns { expression in
      found.append(expression)
      return expression
    }
    return found
  }
}

extension [Expression] {
  /// The collections that inner queries of the expressions read.
  fileprivate var uses: [CollectionUse] { flatMap(\.uses) }
}

extension Expression {
  fileprivate var uses: [CollectionUse] {
    let own: [CollectionUse] =
      switch self {
      case .inQuery(_, let query, _), .existsQuery(let query): query.uses
      default: []
      }
    return own + children.flatMap(\.uses)
  }
}
