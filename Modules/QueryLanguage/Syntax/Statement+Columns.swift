package import CRDTCore

extension Statement {
  /// The names of the columns of its rows, in the order of the text.
  ///
  /// It is `nil` where the columns depend on the documents, as with `*`, and for statements other than
  /// queries.
  package var columnNames: [TextKey]? {
    switch self {
    case .select(let select): select.projection.columnNames
    case .compound(let compound): compound.body.columnNames
    case .insert, .update, .delete, .evict, .createIndex, .dropIndex, .alterSystem, .show, .explain, .profile,
      .advise:
      nil
    }
  }
}

extension Select.Projection {
  fileprivate var columnNames: [TextKey]? {
    switch self {
    case .all, .elements: nil
    case .columns(let columns): columns.map(\.$name)
    case .countAll(let alias): [alias]
    }
  }
}

extension CompoundSelect.Operand {
  /// The columns of the first query, which name those of all rows.
  fileprivate var columnNames: [TextKey]? {
    switch self {
    case .select(let select): select.projection.columnNames
    case .combined(_, _, let first, _): first.columnNames
    }
  }
}
