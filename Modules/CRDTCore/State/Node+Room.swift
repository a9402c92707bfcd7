/// Adds many children at once; if added one by one, each would move the children behind it.
extension Node {
  /// Makes missing nodes at many paths; pruning the state removes those that stay empty.
  ///
  /// - Complexity: O(*n* + *m* log *m*) in the children on the way and the paths.
  mutating func makeRoom(for paths: [[TextKey]]) {
    guard paths.count > 1 else { return }
    let sorted = paths.sorted { a, b in
      for (a, b) in zip(a, b) {
        let order = a.utf8Compare(b)
        if order != 0 { return order < 0 }
      }
      return a.count < b.count
    }
    makeRoom(for: sorted[...], at: 0)
  }

  /// The same for ascending paths whose first `depth` keys all lead to this node.
  private mutating func makeRoom(for paths: ArraySlice<[TextKey]>, at depth: Int) {
    var groups: [(key: TextKey, paths: ArraySlice<[TextKey]>)] = []
    var rest = paths.drop { $0.count == depth }
    while let key = rest.first?[depth] {
      let group = rest.prefix { $0[depth].utf8Compare(key) == 0 }
      groups.append((key, group))
      rest = rest[group.endIndex...]
    }
    addChildren(ascending: groups.map(\.key))
    for group in groups where group.paths.last.map({ $0.count > depth + 1 }) ?? false {
      withChild(group.key) { $0.makeRoom(for: group.paths, at: depth + 1) }
    }
  }

  /// Adds an empty child for each key that has none; the keys ascend.
  ///
  /// - Complexity: O(*n* + *m* log *n*) in the children and the keys.
  mutating func addChildren(ascending keys: [TextKey]) {
    let added = keys.filter { !index(of: $0).found }
    guard added.count > 1 else { return }
    let standing = exchange(&children, with: [])
    children.reserveCapacity(standing.count + added.count)
    var rest = added[...]
    for child in standing {
      while let key = rest.first, key.utf8Compare(child.key) < 0 {
        children.append(Child(key: key, node: Node()))
        rest = rest.dropFirst()
      }
      children.append(child)
    }
    for key in rest { children.append(Child(key: key, node: Node())) }
  }

  /// Drops what a write at `path` superseded; everything else was pruned when it was written.
  mutating func prune(along path: ArraySlice<TextKey>, under floor: Stamp) {
    guard let key = path.first else { return prune(under: floor) }
    let (index, isFound) = index(of: key)
    guard isFound else { return }
    children[index].node.prune(along: path.dropFirst(), under: max(floor, effectiveFloor))
    if children[index].node.isEmpty { children.remove(at: index) }
  }
}
