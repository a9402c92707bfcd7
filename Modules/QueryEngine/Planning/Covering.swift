import CRDTCore
import DocStore

extension IndexDefinition {
  /// The field of the index whose values in the rows contain a path.
  ///
  /// - Returns: The field's position, and the rest of the path after the field; `nil` where there is no such
  ///   field.
  func place(of path: FieldPath) -> (field: Int, rest: FieldPath)? {
    var found: (field: Int, rest: FieldPath)?
    for (place, field) in fields.enumerated()
    where field.part == .value && path.count >= field.path.count {
      let isThere = zip(path, field.path).allSatisfy { $0 == .key($1) }
      guard isThere, path.count - field.path.count < found?.rest.count ?? .max else { continue }
      found = (place, Array(path.dropFirst(field.path.count)))
    }
    return found
  }

  /// Whether the rows contain the values at all these paths.
  func holds(_ paths: [FieldPath]) -> Bool { !hasElements && paths.allSatisfy { place(of: $0) != nil } }
}

extension Expression {
  /// The expression over the values of an index's row; its paths name them by position.
  func onRows(of index: IndexDefinition) -> Expression {
    rewritten { (node) throws(Never) -> Expression in
      guard case .path(let path) = node, let (field, rest) = index.place(of: path) else { return node }
      return .path([.index(field)] + rest)
    }
  }
}

extension Plan {
  /// The paths that are read of each document; `nil` for whole documents.
  var paths: [FieldPath]? {
    let rest = (filter?.paths ?? []) + order.flatMap { $0.expression.paths }
    switch projection {
    case .all, .elements: return nil
    case .countAll: return filter?.paths ?? []
    case .columns(let columns): return columns.flatMap { $0.expression.paths } + rest
    }
  }
}
