extension IDConstraint {
  /// The access path to the documents with these ids, by ascending id.
  var access: AccessPath {
    switch self {
    case .ids(let ids): .ids(ids)
    case .range(let from, let to): .idRange(from: from, to: to)
    }
  }
}
