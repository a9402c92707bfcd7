/// One path of a document's state: its register, its floor, and the paths below it.
struct Node: Hashable, Sendable {
  /// A floor that its register does not imply.
  struct Floor: Hashable, Sendable {
    var stamp: Stamp
    var birth: ClockReading

    /// The record's sign that default data was met at a path which another register holds.
    static let defaultMet = Floor(stamp: .zero, birth: .zero)
  }

  struct Child: Hashable, Sendable {
    var key: TextKey
    var node: Node
  }

  var register: Register?
  var floor: Floor?
  /// Whether default data was met here, or below a floor of this path, and something else is here now.
  ///
  /// No version vector covers default data, so a removal here must stay. Each replica records for itself what
  /// it has met; this is not part of the state that merges.
  var hasMetDefault = false
  /// In ascending order of the keys' UTF-8 bytes.
  var children: [Child] = []

  var isEmpty: Bool { register == nil && floor == nil && children.isEmpty }

  /// The greatest stamp of a scalar or a removal that was ever here.
  ///
  /// Entries below this path do not exist if their stamp is not greater.
  var effectiveFloor: Stamp {
    var stamp = floor?.stamp ?? .zero
    if let register, register.isCover { stamp = max(stamp, register.stamp) }
    return stamp
  }

  /// Whether a reader sees anything here: a value, or a map (which may be empty).
  var isVisible: Bool { if let register, !register.isRemoved { true } else { hasVisibleChild } }

  var hasVisibleChild: Bool { children.contains { $0.node.isVisible } }

  func index(of key: TextKey) -> (index: Int, found: Bool) {
    var low = 0
    var high = children.count
    while low < high {
      let middle = (low + high) / 2
      let order = children[middle].key.utf8Compare(key)
      if order == 0 { return (middle, true) }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return (low, false)
  }

  subscript(key: TextKey) -> Node? {
    let (index, found) = index(of: key)
    return found ? children[index].node : nil
  }

  /// Changes the node below `key` in place, and makes it first if necessary.
  mutating func withChild<R, E: Error>(_ key: TextKey, _ body: (inout Node) throws(E) -> R) throws(E) -> R {
    let (index, found) = index(of: key)
    if !found { children.insert(Child(key: key, node: Node()), at: index) }
    return try body(&children[index].node)
  }

  /// Whether default data was met here.
  var hidesDefault: Bool {
    hasMetDefault || register?.isDefault == true || register?.content == .removed(overDefault: true)
  }

  /// Whether default data was met here or below.
  var hasDefault: Bool { hidesDefault || children.contains { $0.node.hasDefault } }

  /// Records that default data was met, unless the register here shows it.
  private mutating func noteDefault() {
    if register?.isRemoved == true { register?.content = .removed(overDefault: true) }
    hasMetDefault = register.map { !$0.isDefault && !$0.isRemoved } ?? true
  }

  /// Puts a register here if it wins, and keeps the floor that either register implies.
  mutating func put(_ incoming: Register) {
    let meetsDefault = hidesDefault || incoming.isDefault
    settle(incoming)
    if meetsDefault { noteDefault() }
  }

  private mutating func settle(_ incoming: Register) {
    guard let mine = register else {
      register = incoming
      dropImpliedFloor()
      return
    }
    if incoming.stamp == mine.stamp, incoming.isCounter || mine.isCounter,
      let theirs = incoming.content.asCounter, let ours = mine.content.asCounter
    {
      register?.content = .counter(ours.joined(with: theirs))
      return
    }
    guard incoming.beats(mine) else {
      if incoming.isCover { raiseFloor(to: incoming.stamp, birth: incoming.birth) }
      return
    }
    register = incoming
    if mine.isCover { raiseFloor(to: mine.stamp, birth: mine.birth) }
    dropImpliedFloor()
  }

  mutating func raiseFloor(to stamp: Stamp, birth: ClockReading) {
    if let floor, floor.stamp == stamp {
      self.floor?.birth = max(floor.birth, birth)
      return
    }
    guard stamp > effectiveFloor else { return }
    floor = Floor(stamp: stamp, birth: birth)
  }

  private mutating func dropImpliedFloor() {
    if let floor, let register, register.isCover, register.stamp >= floor.stamp { self.floor = nil }
  }

  /// Drops entries at or below `floor`, here and further down, and nodes that hold nothing.
  mutating func prune(under floor: Stamp) {
    if floor > .zero {
      if let register, register.stamp <= floor { self.register = nil }
      if let mine = self.floor, mine.stamp <= floor { self.floor = nil }
    }
    if effectiveFloor > floor, children.contains(where: { $0.node.hasDefault }) { noteDefault() }
    pruneChildren(under: max(floor, effectiveFloor))
  }

  mutating func pruneChildren(under floor: Stamp) {
    guard !children.isEmpty else { return }
    for index in children.indices { children[index].node.prune(under: floor) }
    children.removeAll { $0.node.isEmpty }
  }
}
