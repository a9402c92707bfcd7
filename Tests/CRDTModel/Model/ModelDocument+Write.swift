package import CRDTCore

/// One change of a model document; the same as an `Edit` of the real one.
package enum ModelEdit {
  case set(Int, ModelContent)
  /// Replaces by a map, with a number in its first child where the path has children.
  case replace(Int, Int64)
  case remove(Int)
  case increment(Int, Int64)
  case restart(Int, Int64)

  package var path: Int {
    switch self {
    case .set(let path, _), .replace(let path, _), .remove(let path), .increment(let path, _),
      .restart(let path, _):
      path
    }
  }

  package var edit: Edit {
    let names = ModelPath.names[path]
    return switch self {
    case .set(_, let content): .set(names, content.value(adding: 0) ?? .null)
    case .replace(let path, let number): .replace(names, .map(Self.child(of: path, number)))
    case .remove: .remove(names)
    case .increment(_, let amount): .increment(names, amount)
    case .restart(_, let start): .restart(names, start)
    }
  }

  private static func child(of path: Int, _ number: Int64) -> [TextKey: Value] {
    guard let child = ModelPath.children[path].first, let key = ModelPath.names[child].last else {
      return [:]
    }
    return [key: .int(number)]
  }
}

/// An increment of something that cannot be counted on, or a number in the place of a counter.
package struct ModelRefusal: Error {}

/// What a counter among the values of a write is.
private enum ModelManner {
  /// The beginning of an epoch.
  case set
  /// Default data, which changes no counter that stands.
  case upsert
}

extension ModelDocument {
  private struct Pen {
    var stamp: ModelStamp
    var writer: ModelWriter
  }

  private mutating func pen(_ site: Int, _ reading: UInt64) -> Pen {
    let seen = max(vector.values.max() ?? 0, life?.stamp.reading ?? 0, low.reading)
    let born = birth ?? (controls.contains(.noBirth) ? 1 : reading)
    let reading = max(reading, seen + 1)
    birth = born
    let writer = ModelWriter(site: site, birth: born)
    vector[writer] = reading
    return Pen(stamp: ModelStamp(reading: reading, site: site), writer: writer)
  }

  private mutating func write(
    _ content: ModelContent, at path: Int, _ pen: Pen, _ operations: inout OperationLog,
    _ manner: ModelManner = .set
  ) {
    let isUnderFloor = isUnderFloor(path)
    for ancestor in ModelPath.ancestors[path] where entries[ancestor]?.content != .map {
      enter(.map, at: ancestor, pen, &operations)
    }
    if case .counter(let start) = content, manner == .upsert {
      startCounter(path, at: start, pen, isUnderFloor, &operations)
    } else {
      enter(content, at: path, pen, &operations)
    }
  }

  /// Whether what stood above a path may have ended default data there.
  private func isUnderFloor(_ path: Int) -> Bool {
    low > .zero || ModelPath.ancestors[path].contains { floor(at: $0) > .zero }
  }

  /// A counter that an application made: default data, whose start value is an increment.
  private mutating func startCounter(
    _ path: Int, at start: Int64, _ pen: Pen, _ isUnderFloor: Bool, _ operations: inout OperationLog
  ) {
    let standing = value(at: path)
    if case .counter? = standing { return }
    if case .int? = standing { return count(path, by: start, pen, &operations) }
    guard standing == nil, entries[path] == nil, floors[path] == nil, !isUnderFloor else {
      return enter(.counter(start), at: path, pen, &operations)
    }
    enter(.counter(0), at: path, Pen(stamp: .zero, writer: .none), &operations)
    if start != 0 { count(path, by: start, pen, &operations) }
  }

  /// A plain number does not take the place of a counter.
  private func checkNumber(_ content: ModelContent, at path: Int) throws(ModelRefusal) {
    if case .int = content, case .counter? = value(at: path) { throw ModelRefusal() }
  }

  private mutating func enter(
    _ content: ModelContent, at path: Int, _ pen: Pen, _ operations: inout OperationLog
  ) {
    put(path, Entry(stamp: pen.stamp, writer: pen.writer, content: content))
    log.insert(operations.append(.entry(path: path, stamp: pen.stamp, content: content)))
  }

  private mutating func live(
    _ stamp: ModelStamp, isAlive: Bool, floor: ModelStamp, _ operations: inout OperationLog
  ) {
    life = Life(stamp: stamp, isAlive: isAlive, floor: floor)
    log.insert(operations.append(.life(stamp: stamp, isAlive: isAlive, floor: floor)))
  }

  package mutating func upsert(
    _ sets: [(path: Int, content: ModelContent)], site: Int, reading: UInt64, _ operations: inout OperationLog
  ) throws(ModelRefusal) {
    var next = self
    var logged = operations
    try next.upsertOrFail(sets, site: site, reading: reading, &logged)
    (self, operations) = (next, logged)
  }

  private mutating func upsertOrFail(
    _ sets: [(path: Int, content: ModelContent)], site: Int, reading: UInt64, _ operations: inout OperationLog
  ) throws(ModelRefusal) {
    let floor = life.map { $0.isAlive ? low : max(low, $0.stamp) } ?? .zero
    let pen = pen(site, reading)
    live(pen.stamp, isAlive: true, floor: floor, &operations)
    low = floor
    prune()
    for (path, content) in sets {
      try checkNumber(content, at: path)
      write(content, at: path, pen, &operations, .upsert)
    }
    prune()
  }

  package mutating func insertDefault(
    _ sets: [(path: Int, content: ModelContent)], _ operations: inout OperationLog
  ) {
    guard life == nil else { return }
    for (path, content) in sets { write(content, at: path, Pen(stamp: .zero, writer: .none), &operations) }
    live(.zero, isAlive: true, floor: .zero, &operations)
  }

  package mutating func delete(site: Int, reading: UInt64, _ operations: inout OperationLog) {
    guard isAlive else { return }
    let pen = pen(site, reading)
    live(pen.stamp, isAlive: false, floor: low, &operations)
  }

  package mutating func evict() { self = ModelDocument(controls) }

  package mutating func updateDifferent(
    _ sets: [(path: Int, content: ModelContent)], site: Int, reading: UInt64, _ operations: inout OperationLog
  ) throws(ModelRefusal) {
    let news = sets.filter { path, content in
      let old = value(at: path)
      if content == .map, case .map? = old { return false }
      if case .counter = content, case .counter? = old { return false }
      return old != content.value(adding: 0)
    }
    try update(news.map { .set($0.path, $0.content) }, site: site, reading: reading, &operations, .upsert)
  }

  /// Applies all edits or none; those that do not overlap share a stamp.
  package mutating func update(
    _ edits: [ModelEdit], site: Int, reading: UInt64, _ operations: inout OperationLog
  ) throws(ModelRefusal) {
    try update(edits, site: site, reading: reading, &operations, .set)
  }

  private mutating func update(
    _ edits: [ModelEdit], site: Int, reading: UInt64, _ operations: inout OperationLog, _ manner: ModelManner
  ) throws(ModelRefusal) {
    guard isAlive else { return }
    var next = self
    var logged = operations
    var shared: Pen?
    var written: [Int] = []
    for edit in edits {
      if written.contains(where: { ModelPath.overlap($0, edit.path) }) { (shared, written) = (nil, []) }
      try next.apply(edit, site, reading, &shared, &logged, manner)
      written.append(edit.path)
    }
    (self, operations) = (next, logged)
  }

  private mutating func apply(
    _ edit: ModelEdit, _ site: Int, _ reading: UInt64, _ shared: inout Pen?, _ operations: inout OperationLog,
    _ manner: ModelManner
  ) throws(ModelRefusal) {
    if case .set(let path, let content) = edit { try checkNumber(content, at: path) }
    if case .remove(let path) = edit, value(at: path) == nil { return }
    if case .increment(let path, _) = edit { try checkCountable(path) }
    var pen = shared ?? pen(site, reading)
    switch edit {
    case .set(let path, let content): write(content, at: path, pen, &operations, manner)
    case .remove(let path): write(.removed, at: path, pen, &operations)
    case .restart(let path, let start): write(.counter(start), at: path, pen, &operations)
    case .increment(let path, let amount): increment(path, by: amount, pen, &operations)
    case .replace(let path, let number):
      write(.removed, at: path, pen, &operations)
      prune()
      pen = self.pen(site, reading)
      write(.map, at: path, pen, &operations)
      if let child = ModelPath.children[path].first { write(.int(number), at: child, pen, &operations) }
    }
    shared = pen
    prune()
  }

  private func checkCountable(_ path: Int) throws(ModelRefusal) {
    if case .map? = value(at: path) { throw ModelRefusal() }
    if case .text? = entries[path]?.content { throw ModelRefusal() }
  }

  private mutating func increment(_ path: Int, by amount: Int64, _ pen: Pen, _ operations: inout OperationLog)
  {
    let isUnderFloor =
      isUnderFloor(path) || floors[path] != nil && entries[path]?.content.isNumber != true
    for ancestor in ModelPath.ancestors[path] where entries[ancestor]?.content != .map {
      enter(.map, at: ancestor, pen, &operations)
    }
    if entries[path]?.content.isNumber != true {
      // Default data's stamp, so that first increments of several sites add up.
      let epoch = isUnderFloor ? pen : Pen(stamp: .zero, writer: .none)
      enter(.counter(0), at: path, epoch, &operations)
    }
    count(path, by: amount, pen, &operations)
  }

  /// Adds to the number at a path, which becomes a counter.
  private mutating func count(_ path: Int, by amount: Int64, _ pen: Pen, _ operations: inout OperationLog) {
    guard var entry = entries[path] else { return }
    if case .int(let number) = entry.content { entry.content = .counter(number) }
    let total = (entry.contributions[pen.writer]?.amount ?? 0) + amount
    entry.contributions[pen.writer] = Contribution(reading: pen.stamp.reading, amount: total)
    entries[path] = entry
    log.insert(
      operations.append(
        .count(path: path, epoch: entry.stamp, writer: pen.writer, reading: pen.stamp.reading, total: total)))
  }
}
