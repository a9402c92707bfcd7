import Failpoints

extension DocumentState {
  /// Joins a peer's state, or a delta of it, into this one.
  ///
  /// An entry that the vector covers was seen before and is skipped, whatever its path holds now. An entry
  /// that is not covered competes by stamp.
  ///
  /// - Returns: `false`, with nothing changed, when the delta builds on a state that is not included here.
  /// - Complexity: O(*n* + *m*) in the entries of both.
  package mutating func merge(_ incoming: DocumentState) -> Bool {
    guard vector.dominates(incoming.base) else { return false }
    floor = max(floor, incoming.floor)
    Self.merge(incoming.root, into: &root, seen: vector, above: floor)
    vector.join(incoming.vector)
    if (incoming.life, incoming.isAlive ? 1 : 0) > (life, isAlive ? 1 : 0)
      || CRDTDefect.lifeTakenBlindly.isPlanted
    {
      life = incoming.life
      lifeBirth = incoming.lifeBirth
      isAlive = incoming.isAlive
    } else if (incoming.life, incoming.isAlive) == (life, isAlive) {
      // A compacted tombstone does not contain the writer; a tombstone does.
      lifeBirth = max(lifeBirth, incoming.lifeBirth)
    }
    prune()
    dropErased()
    return true
  }

  private static func merge(
    _ incoming: Node, into mine: inout Node, seen: VersionVector, above lowest: Stamp
  ) {
    if let floor = incoming.floor,
      !seen.covers(Writer(site: floor.stamp.site, birth: floor.birth), at: floor.stamp.reading)
    {
      mine.raiseFloor(to: floor.stamp, birth: floor.birth)
    }
    // The document's floor hides this for good, so even default data is not recorded there.
    if let register = incoming.register, lowest == .zero || register.stamp > lowest {
      merge(register, into: &mine, seen: seen)
    }
    if incoming.children.count > 1 { mine.addChildren(ascending: incoming.children.map(\.key)) }
    for child in incoming.children {
      mine.withChild(child.key) { merge(child.node, into: &$0, seen: seen, above: lowest) }
    }
  }

  private static func merge(_ register: Register, into mine: inout Node, seen: VersionVector) {
    if !seen.covers(register.writer, at: register.stamp.reading) {
      var register = register
      // The epoch of first increments is covered by no vector; contributions to it that were seen are
      // skipped, too.
      if register.isDefault, case .counter(var state) = register.content {
        state.contributions.removeAll { seen.covers($0.writer, at: $0.reading) }
        register.content = .counter(state)
      }
      mine.put(register)
    }
    guard case .counter(let theirs) = register.content, !theirs.contributions.isEmpty else { return }
    guard let here = mine.register, here.stamp == register.stamp, var state = here.content.asCounter else {
      return
    }
    for contribution in theirs.contributions where !seen.covers(contribution.writer, at: contribution.reading)
    {
      state.merge(contribution)
    }
    mine.register?.content = .counter(state)
  }

  /// Returns the part of this state that `base` lacks, as a delta.
  ///
  /// Every delta contains what no vector covers: default data, and contributions to counters by writers that
  /// the vector no longer lists.
  ///
  /// - Parameters:
  ///   - base: The peer's version vector.
  ///   - hasUnlisted: Whether the peer may lack contributions of writers that the vector does not list.
  /// - Returns: The full state if the peer has nothing of it.
  /// - Complexity: O(*n*) in the entries.
  package func delta(lacking base: VersionVector, hasUnlisted: Bool = true) -> DocumentState {
    var delta = self
    delta.ownBirth = nil
    // An erasure needs no base, and the peer may have dropped its own.
    guard !base.isEmpty, !isErased else { return delta }
    // Writers that this side does not have are left out: the peer may have dropped them since.
    delta.base = base.elements.count > SupersededWriters.limit ? base.restricted(to: vector) : base
    guard !delta.base.isEmpty else { return delta }
    strip(&delta.root, seen: base, hasUnlisted)
    return delta
  }

  private func strip(_ node: inout Node, seen: VersionVector, _ hasUnlisted: Bool) {
    if let floor = node.floor,
      seen.covers(Writer(site: floor.stamp.site, birth: floor.birth), at: floor.stamp.reading)
    {
      node.floor = nil
    }
    if var register = node.register {
      var hasNews = false
      if case .counter(var state) = register.content {
        state.contributions.removeAll {
          seen.covers($0.writer, at: $0.reading) || !hasUnlisted && vector.index(of: $0.writer) == nil
        }
        hasNews = !state.contributions.isEmpty
        register.content = .counter(state)
      }
      let isCovered = seen.covers(register.writer, at: register.stamp.reading)
      node.register = isCovered && !hasNews ? nil : register
    }
    for index in node.children.indices { strip(&node.children[index].node, seen: seen, hasUnlisted) }
    node.children.removeAll { $0.node.isEmpty }
  }

  /// Takes over a peer's full state: drops what the peer has seen and no longer holds, and joins the rest.
  ///
  /// What the peer no longer holds is dropped even if no replica stores its removal. If the vectors agree
  /// (superseded writers aside) but the contents differ, what this side has seen and no longer holds is
  /// dropped from the peer's state, too. Then the higher stamp wins, or for equal stamps the greater value,
  /// so both sides reach the same state.
  ///
  /// - Complexity: O(*n* + *m*) in the entries of both.
  package mutating func repair(with other: DocumentState) {
    guard vector.agrees(with: other.vector) else {
      // An entry with a later stamp at the peer replaces this one anyway; a counter's increments are joined.
      let isSameOrLater = { (mine: Register, theirs: Register) in
        mine.stamp < theirs.stamp || mine.stamp == theirs.stamp && !theirs.isRemoved
      }
      Self.dropSeen(&root, unlessIn: other.root, as: isSameOrLater, seen: other.vector)
      _ = merge(other)
      return
    }
    var theirs = other
    let mine = self
    // Births are not compared: of two writes of one stamp, one before an eviction, each side may hold
    // another. Contents are not compared either: no stamp is used twice, so if two contents have one stamp,
    // neither side may treat the other's as removed. A side that has met default data keeps a removal of that
    // stamp where the other keeps nothing.
    let isSame = { (mine: Register, theirs: Register) in mine.stamp == theirs.stamp && !theirs.isRemoved }
    Self.dropSeen(&root, unlessIn: other.root, as: isSame, seen: theirs.vector)
    Self.dropSeen(&theirs.root, unlessIn: mine.root, as: isSame, seen: vector)
    theirs.base = VersionVector()
    vector = VersionVector()
    _ = merge(theirs)
    vector.join(mine.vector)
    dropErased()
  }

  /// Drops what the other side has `seen`, unless `isKept` accepts what it holds there.
  private static func dropSeen(
    _ node: inout Node, unlessIn other: Node?,
    as isKept: (_ mine: Register, _ theirs: Register) -> Bool, seen: VersionVector
  ) {
    if let register = node.register, !register.isRemoved,
      !(other?.register.map { isKept(register, $0) } ?? false),
      seen.covers(register.writer, at: register.stamp.reading)
    {
      // If either side met default data, a removal must stay that wins over it, so that both states are the
      // same.
      let staysOverDefault = register.isCover && (node.hidesDefault || other?.hasDefault ?? false)
      node.register = nil
      if staysOverDefault {
        node.register = Register(
          stamp: register.stamp, birth: register.birth, content: .removed(overDefault: true))
        node.hasMetDefault = false
      } else if register.isCover {
        node.raiseFloor(to: register.stamp, birth: register.birth)
      }
    }
    for index in node.children.indices {
      dropSeen(
        &node.children[index].node, unlessIn: other?[node.children[index].key], as: isKept, seen: seen)
    }
    node.children.removeAll { $0.node.isEmpty }
  }
}
