/// The site and the time of a transaction's writes.
package struct Stamping: Sendable {
  package let site: SiteID
  /// The transaction's clock reading; if a document's history is ahead, its writes continue from there.
  package let reading: ClockReading
  /// The highest clock reading that the site used above its clock, even if no stored document has it now.
  private let beyond: ClockReading
  /// The first clock reading of the store's opening; a writer born earlier belongs to another opening.
  private let opening: ClockReading
  /// The site's hash for summaries; below it is the hash of the stamp of site and reading.
  ///
  /// All writes of a transaction share both.
  let siteHash: HashLanes
  private let readingHash: HashLanes

  @inline(__always)
  package init(
    site: SiteID, reading: ClockReading, beyond: ClockReading = .zero, opening: ClockReading = .zero
  ) {
    self.init(
      site: site, siteHash: StateHash.site(site), reading: reading, beyond: beyond, opening: opening)
  }

  /// The same for a caller that writes repeatedly and keeps the site's hash.
  @inline(__always)
  init(
    site: SiteID, siteHash: HashLanes, reading: ClockReading, beyond: ClockReading = .zero,
    opening: ClockReading = .zero
  ) {
    self.site = site
    self.reading = reading
    self.beyond = beyond
    self.opening = opening
    self.siteHash = siteHash
    readingHash = StateHash.stamp(reading, siteHash)
  }

  /// Returns the clock reading of a write on a document with that history.
  ///
  /// If the history is ahead of the clock, the result is after it and after all that the site ever wrote that
  /// far ahead. So no two writes of the site have the same stamp.
  @inline(__always)
  func reading(after latest: ClockReading) -> ClockReading {
    latest < reading ? reading : max(latest, beyond).next
  }

  /// Whether a writer of the site, born at `birth`, belongs to this opening, which continues to use it.
  ///
  /// Births are readings of the clock, even if a document's history is ahead of it, so they distinguish the
  /// openings.
  @inline(__always)
  func goesOn(from birth: ClockReading) -> Bool { birth >= opening && birth <= reading }

  /// The birth of a new writer; no other opening of this store or of a clone uses it.
  @inline(__always)
  var newBirth: ClockReading { reading }

  /// Returns the hash of a stamp of the site, which is usually at the transaction's clock reading.
  @inline(__always)
  func hash(at reading: ClockReading) -> HashLanes {
    reading == self.reading ? readingHash : StateHash.stamp(reading, siteHash)
  }
}

/// One change of a document's fields.
public enum Edit: Hashable, Sendable {
  /// Sets the value at a path; a map merges key by key, and missing parents become maps.
  ///
  /// A counter begins an epoch. A number in the place of a counter is refused; use `restart` or `replace`
  /// instead.
  case set([TextKey], Value)
  /// Like `set`, but a map replaces all earlier writes there, and a number replaces a counter.
  ///
  /// The map also replaces earlier writes by sites that do not know of it.
  case replace([TextKey], Value)
  case remove([TextKey])
  /// Adds to a counter; an existing integer becomes the counter's base, and a missing field starts at zero.
  case increment([TextKey], Int64)
  /// Restarts a counter, so that increments that the writer had not seen no longer count.
  case restart([TextKey], Int64)
}

extension Edit {
  /// The value that the edit sets; `nil` for other edits.
  package var value: Value? {
    switch self {
    case .set(_, let value), .replace(_, let value): value
    case .remove, .increment, .restart: nil
    }
  }

  var path: [TextKey] {
    switch self {
    case .set(let path, _), .replace(let path, _), .remove(let path), .increment(let path, _),
      .restart(let path, _):
      path
    }
  }
}

/// How a write treats existing and new counters.
enum CounterManner {
  /// A counter begins an epoch; a number over a counter is refused.
  case set
  /// A counter begins an epoch; a number replaces a counter.
  case replace
  /// A counter is default data, and does not change an existing one; a number over a counter is refused.
  case upsert
}

extension DocumentState {
  /// One write in progress: its stamp is above everything that the document has seen.
  struct Pen {
    let stamp: Stamp
    let birth: ClockReading

    func register(_ content: Register.Content) -> Register {
      Register(stamp: stamp, birth: birth, content: content)
    }
  }

  private mutating func pen(_ stamping: Stamping) -> Pen {
    let seen = max(vector.latest, life.reading, floor.reading)
    let reading = stamping.reading(after: seen)
    var birth = stamping.newBirth
    if let ownBirth, stamping.goesOn(from: ownBirth) { birth = ownBirth }
    ownBirth = birth
    vector.advance(Writer(site: stamping.site, birth: birth), to: reading)
    return Pen(stamp: Stamp(reading: reading, site: stamping.site), birth: birth)
  }

  private mutating func live(_ pen: Pen) {
    life = pen.stamp
    lifeBirth = pen.birth
    isAlive = true
  }

  /// Writes fields and life; after a known deletion the document starts afresh.
  ///
  /// - Throws: `isACounter` for a number over a counter.
  mutating func upsert(_ fields: [TextKey: Value], _ stamping: Stamping) throws(DocumentError) {
    if !isAlive { floor = max(floor, life) }
    let pen = pen(stamping)
    live(pen)
    prune()
    let isUnderFloor = floor > .zero
    root.makeRoom(for: fields.keys.map { [$0] })
    for (key, value) in fields {
      try Self.set(value, at: [key][...], in: &root, pen, .upsert, isUnderFloor: isUnderFloor)
    }
    prune()
    dropSuperseded()
  }

  mutating func delete(_ stamping: Stamping) {
    let pen = pen(stamping)
    life = pen.stamp
    lifeBirth = pen.birth
    isAlive = false
    dropSuperseded()
  }

  /// Applies edits in their order; edits whose paths do not overlap share one stamp.
  mutating func apply(
    _ edits: [Edit], _ stamping: Stamping, settingAs manner: CounterManner = .set
  ) throws(DocumentError) {
    var shared: Pen?
    var written: Set<[TextKey]> = []
    var above: Set<[TextKey]> = []
    let former = vector
    for edit in edits { try Self.check(edit.path) }
    root.makeRoom(for: edits.map(\.path))
    for edit in edits {
      let path = edit.path
      let prefixes = (1..<path.count).map { Array(path[..<$0]) }
      if written.contains(path) || above.contains(path) || prefixes.contains(where: written.contains) {
        shared = nil
        written = []
        above = []
      }
      try apply(edit, stamping, &shared, manner)
      written.insert(path)
      above.formUnion(prefixes)
    }
    prune()
    if vector != former { dropSuperseded() }
  }

  private mutating func apply(
    _ edit: Edit, _ stamping: Stamping, _ shared: inout Pen?, _ manner: CounterManner
  ) throws(DocumentError) {
    let isUnderFloor = floor > .zero
    switch edit {
    case .set(let path, let value):
      let pen = pen(stamping, &shared)
      try Self.set(value, at: path[...], in: &root, pen, manner, isUnderFloor: isUnderFloor)
    case .replace(let path, let value):
      if case .map = value {
        // Also if nothing is there: earlier writes by others, made without knowing of this one, must not mix
        // with this map.
        try Self.remove(path[...], in: &root, pen(stamping, &shared))
        root.prune(along: path[...], under: floor)
        shared = nil
      }
      let pen = pen(stamping, &shared)
      try Self.set(value, at: path[...], in: &root, pen, .replace, isUnderFloor: isUnderFloor)
    case .remove(let path):
      guard root.visible(at: path) != nil else { return }
      try Self.remove(path[...], in: &root, pen(stamping, &shared))
    case .increment(let path, let amount): try increment(path, by: amount, stamping, &shared)
    case .restart(let path, let value):
      let pen = pen(stamping, &shared)
      try Self.set(.counter(value), at: path[...], in: &root, pen, .set, isUnderFloor: isUnderFloor)
    }
    root.prune(along: edit.path[...], under: floor)
  }

  private mutating func pen(_ stamping: Stamping, _ shared: inout Pen?) -> Pen {
    if let shared { return shared }
    let pen = pen(stamping)
    shared = pen
    return pen
  }

  private static func check(_ path: [TextKey]) throws(DocumentError) {
    guard let first = path.first else { throw DocumentError(.invalidPath, "an edit needs a path") }
    guard first != "_id" else { throw DocumentError(.invalidPath, "an _id cannot be changed", path: path) }
    guard path.count <= Limits.pathSteps else {
      throw DocumentError(.depth, "a path leads through more than \(Limits.depth) maps")
    }
    guard path.allSatisfy({ $0.utf8.count <= UInt16.max }) else {
      throw DocumentError(.invalidPath, "a key takes more than \(UInt16.max) bytes")
    }
  }

  private mutating func increment(
    _ path: [TextKey], by amount: Int64, _ stamping: Stamping, _ shared: inout Pen?
  ) throws(DocumentError) {
    let standing = root.node(at: path)
    var content: Register.Content?
    switch standing?.register?.content {
    case .counter(let state)?: content = .counter(state)
    case .value(.int(let number))?: content = .counter(CounterState(base: number))
    case .value?, .map?:
      throw DocumentError(.notACounter, "only a counter or an integer can be incremented", path: path)
    case .removed?, nil: break
    }
    if standing?.hasVisibleChild == true {
      throw DocumentError(.notACounter, "only a counter or an integer can be incremented", path: path)
    }
    let isUnderFloor = floor > .zero || root.hasFloor(above: path[...])
    let pen = pen(stamping, &shared)
    try Self.reach(path[...], in: &root, pen) { node throws(DocumentError) in
      if content == nil {
        // A counter's first increment belongs to the epoch of default data, so that first increments of
        // several sites add up. If something was removed before, here or above, it begins an epoch of its
        // own.
        let isNew = node.register == nil && node.floor == nil && !isUnderFloor
        node.put(
          isNew
            ? Register(stamp: .zero, birth: .zero, content: .counter(CounterState(base: 0)))
            : pen.register(.counter(CounterState(base: 0))))
      }
      guard case .counter(var state)? = content ?? node.register?.content else { return }
      state.add(amount, by: Writer(site: pen.stamp.site, birth: pen.birth), at: pen.stamp.reading)
      node.register?.content = .counter(state)
    }
  }

  /// Makes maps of all parents of `path`, then calls `body` with its node.
  private static func reach(
    _ path: ArraySlice<TextKey>, in node: inout Node, _ pen: Pen,
    _ body: (inout Node) throws(DocumentError) -> Void
  ) throws(DocumentError) {
    guard let key = path.first else { return try body(&node) }
    try node.withChild(key) { child throws(DocumentError) in
      if path.count > 1, child.register?.content != .map { child.put(pen.register(.map)) }
      try reach(path.dropFirst(), in: &child, pen, body)
    }
  }

  private static func set(
    _ value: Value, at path: ArraySlice<TextKey>, in root: inout Node, _ pen: Pen, _ manner: CounterManner,
    isUnderFloor: Bool
  ) throws(DocumentError) {
    let isUnderFloor = isUnderFloor || root.hasFloor(above: path)
    try reach(path, in: &root, pen) { node throws(DocumentError) in
      do throws(DocumentError) {
        try node.write(value, pen, manner, isUnderFloor: isUnderFloor)
      } catch {
        throw error.below(path)
      }
    }
  }

  private static func remove(
    _ path: ArraySlice<TextKey>, in root: inout Node, _ pen: Pen
  ) throws(DocumentError) {
    try reach(path, in: &root, pen) { node throws(DocumentError) in
      node.put(pen.register(.removed(overDefault: false)))
    }
  }
}

extension Node {
  func node(at path: [TextKey]) -> Node? {
    var node = self
    for key in path {
      guard let child = node[key] else { return nil }
      node = child
    }
    return node
  }

  /// Whether anything other than a map was ever at a parent of `path`.
  func hasFloor(above path: ArraySlice<TextKey>) -> Bool {
    guard path.count > 1, let key = path.first, let child = self[key] else { return false }
    return child.effectiveFloor > .zero || child.hasFloor(above: path.dropFirst())
  }

  func visible(at path: [TextKey]) -> Node? { node(at: path).flatMap { $0.isVisible ? $0 : nil } }

  /// The value that a reader sees here; `nil` for nothing.
  var value: Value? {
    if hasVisibleChild {
      var fields: [TextKey: Value] = [:]
      for child in children { fields[child.key] = child.node.value }
      return .map(fields)
    }
    switch register?.content {
    case .value(let value): return value
    case .counter(let state): return .counter(state.sum)
    case .map: return .map([:])
    case .removed, nil: return nil
    }
  }
}
