/// Rules to leave out of the reference models, or memory to give up; each must then show bad histories.
package struct ReferenceControls: OptionSet, Sendable {
  package let rawValue: Int

  package init(rawValue: Int) { self.rawValue = rawValue }

  /// Version vectors by site instead of by (site, birth).
  package static let noBirth = ReferenceControls(rawValue: 1)
  /// The floor travels with the last life instead of being a maximum of its own.
  package static let floorInLife = ReferenceControls(rawValue: 2)
  /// Removed entries are collected, far inside the time that replicas are apart.
  package static let collectFields = ReferenceControls(rawValue: 4)
  /// Equal vectors are taken for equal content.
  package static let noRepair = ReferenceControls(rawValue: 8)
  /// The repair drops only where the other side has nothing at the path.
  package static let repairAbsentOnly = ReferenceControls(rawValue: 16)
  /// Deleted documents are collected at once: only the certificate stays.
  package static let collectDeleted = ReferenceControls(rawValue: 32)
  /// Only the register that stands at a path now hides what lies below it.
  package static let noFloor = ReferenceControls(rawValue: 64)
}

/// One replica of a document with flat fields, in dictionaries: life, floor, vectors by writer, eviction,
/// default data, collection, certificates and repair, beside a log that never forgets.
package struct FlatModel {
  static let paths = 4

  struct Entry: Equatable {
    var stamp: ModelStamp
    /// `nil`: removed.
    var value: Int?
    var writer: ModelWriter

    static func beats(_ a: Entry, _ b: Entry) -> Bool {
      // A removal comes after every value of one stamp; only default data ever shares one.
      a.stamp != b.stamp ? a.stamp > b.stamp : (a.value ?? .max) > (b.value ?? .max)
    }
  }

  struct Life: Equatable {
    var stamp: ModelStamp
    var isAlive: Bool
    var floor: ModelStamp

    static func beats(_ a: Life, _ b: Life) -> Bool {
      (a.stamp, a.isAlive ? 1 : 0) > (b.stamp, b.isAlive ? 1 : 0)
    }
  }

  /// One operation of the log, which also remembers what its writer had seen.
  package enum Operation {
    case entry(path: Int, stamp: ModelStamp, value: Int?)
    case life(stamp: ModelStamp, isAlive: Bool, floor: ModelStamp)
  }

  let site: Int
  let controls: ReferenceControls
  var clock: UInt64 = 0
  /// Numbers of the operations that are known here.
  var log = OperationSet()
  var certificate: ModelStamp?
  var entries: [Entry?] = Array(repeating: nil, count: FlatModel.paths)
  var vector: [ModelWriter: UInt64] = [:]
  var life: Life?
  var birth: UInt64?
  var low = ModelStamp.zero
  var overDefault: Set<Int> = []

  init(site: Int, controls: ReferenceControls) {
    self.site = site
    self.controls = controls
  }

  var isAlive: Bool { life?.isAlive ?? false }

  var visible: [Int?]? { isAlive ? entries.map { $0?.value } : nil }

  private mutating func drop() {
    let empty: [Entry?] = Array(repeating: nil, count: Self.paths)
    (entries, vector, life, birth, low, overDefault) = (empty, [:], nil, nil, .zero, [])
  }

  // MARK: - Local writes

  private mutating func stamp(_ now: UInt64, _ paths: [Int]) -> ModelStamp {
    var reading = max(clock + 1, now, (vector.values.max() ?? 0) + 1)
    for path in paths { if let entry = entries[path] { reading = max(reading, entry.stamp.reading + 1) } }
    if let life { reading = max(reading, life.stamp.reading + 1) }
    if let certificate { reading = max(reading, certificate.reading + 1) }
    clock = reading
    return ModelStamp(reading: reading, site: site)
  }

  private mutating func note(_ operation: Operation, _ operations: inout [Operation]) {
    log.insert(operations.count)
    operations.append(operation)
  }

  private mutating func record(
    _ stamp: ModelStamp, _ sets: [(path: Int, value: Int?)], life: Life?, _ operations: inout [Operation]
  ) {
    let birth = birth ?? (controls.contains(.noBirth) ? 0 : stamp.reading)
    self.birth = birth
    let writer = ModelWriter(site: site, birth: birth)
    for (path, value) in sets {
      if value == nil, let entry = entries[path], entry.stamp == .zero { overDefault.insert(path) }
      entries[path] = Entry(stamp: stamp, value: value, writer: writer)
      note(.entry(path: path, stamp: stamp, value: value), &operations)
    }
    if let life {
      self.life = life
      note(.life(stamp: life.stamp, isAlive: life.isAlive, floor: life.floor), &operations)
    }
    vector[writer] = stamp.reading
  }

  mutating func upsert(
    _ now: UInt64, _ sets: [(path: Int, value: Int?)], _ operations: inout [Operation]
  ) {
    let stamp = stamp(now, sets.map(\.path))
    let floor = life.map { $0.isAlive ? low : $0.stamp } ?? certificate ?? .zero
    record(stamp, sets, life: Life(stamp: stamp, isAlive: true, floor: floor), &operations)
    applyFloor()
  }

  mutating func update(
    _ now: UInt64, _ sets: [(path: Int, value: Int?)], _ operations: inout [Operation]
  ) {
    guard isAlive else { return }
    record(stamp(now, sets.map(\.path)), sets, life: nil, &operations)
  }

  mutating func delete(_ now: UInt64, _ operations: inout [Operation]) {
    guard isAlive else { return }
    let stamp = stamp(now, [])
    record(stamp, [], life: Life(stamp: stamp, isAlive: false, floor: low), &operations)
  }

  mutating func insertDefault(_ sets: [(path: Int, value: Int)], _ operations: inout [Operation]) {
    guard life == nil, certificate == nil else { return }
    for (path, value) in sets {
      entries[path] = Entry(stamp: .zero, value: value, writer: .none)
      note(.entry(path: path, stamp: .zero, value: value), &operations)
    }
    life = Life(stamp: .zero, isAlive: true, floor: .zero)
    note(.life(stamp: .zero, isAlive: true, floor: .zero), &operations)
  }

  mutating func evict() {
    guard life != nil else { return }
    drop()
    log = OperationSet()
  }

  mutating func collect(before horizon: UInt64) {
    guard let life else { return }
    if !life.isAlive {
      guard life.stamp.reading < horizon else { return }
      certificate = max(certificate ?? .zero, life.stamp)
      return drop()
    }
    for (path, entry) in entries.enumerated() {
      guard let entry, entry.value == nil, entry.stamp.reading < horizon else { continue }
      if !overDefault.contains(path) { entries[path] = nil }
    }
  }

  private mutating func applyFloor() {
    if let life { low = controls.contains(.floorInLife) ? life.floor : max(low, life.floor) }
    guard low.reading > 0 else { return }
    for (path, entry) in entries.enumerated() {
      if let entry, entry.stamp <= low { entries[path] = nil }
    }
  }

  // MARK: - Merging

  func covers(_ entry: Entry) -> Bool {
    entry.stamp.reading > 0 && vector[entry.writer].map { $0 >= entry.stamp.reading } ?? false
  }

  private mutating func put(_ path: Int, _ entry: Entry) {
    guard let mine = entries[path] else {
      entries[path] = entry
      return
    }
    if Entry.beats(entry, mine) {
      if mine.stamp == .zero, entry.value == nil { overDefault.insert(path) }
      entries[path] = entry
    } else if entry.stamp == .zero, mine.value == nil {
      overDefault.insert(path)
    }
  }

  /// - Returns: `false` when a certificate forbids it.
  private mutating func merge(_ other: FlatModel, _ theirs: Life) -> Bool {
    if life == nil, let certificate, theirs.stamp < certificate { return false }
    for (path, entry) in other.entries.enumerated() {
      if let entry, !covers(entry) { put(path, entry) }
    }
    for (writer, reading) in other.vector { vector[writer] = max(vector[writer, default: 0], reading) }
    if !controls.contains(.floorInLife) { low = max(low, other.low) }
    var theirs = theirs
    theirs.floor = other.low
    if life.map({ Life.beats(theirs, $0) }) ?? true { life = theirs }
    clock = max(clock, other.vector.values.max() ?? 0)
    applyFloor()
    return true
  }

  private var live: [Entry?] { entries.map { $0?.value == nil ? nil : $0 } }

  /// Whether live entries, life or floor differ.
  private func differs(from other: FlatModel) -> Bool {
    life?.stamp != other.life?.stamp || life?.isAlive != other.life?.isAlive || low != other.low
      || live != other.live
  }

  /// `b` pulls the document from `a`.
  static func pull(_ b: inout FlatModel, _ a: inout FlatModel) {
    guard let theirs = a.life else {
      guard let certificate = a.certificate else { return }
      if let life = b.life, life.stamp >= certificate { return }
      if b.life != nil || b.certificate.map({ $0 < certificate }) ?? true {
        b.drop()
        b.certificate = max(b.certificate ?? .zero, certificate)
      }
      b.log.formUnion(a.log)
      return
    }
    if b.merge(a, theirs) { b.log.formUnion(a.log) }
    guard b.life != nil, !b.controls.contains(.noRepair), a.vector == b.vector, a.differs(from: b) else {
      return
    }
    repair(&a, &b)
  }

  /// An entry that the other side has seen and does not hold is gone.
  private static func repair(_ a: inout FlatModel, _ b: inout FlatModel) {
    func gone(_ x: FlatModel, _ y: FlatModel) -> [Int] {
      (0..<paths).filter { path in
        guard let entry = x.entries[path] else { return false }
        let isMissing =
          y.entries[path] == nil
          || !x.controls.contains(.repairAbsentOnly)
            && (y.entries[path]?.stamp != entry.stamp || y.entries[path]?.value != entry.value)
        return isMissing && y.covers(entry) && entry.value != nil
      }
    }
    let (goneA, goneB) = (gone(a, b), gone(b, a))
    for path in goneA { a.entries[path] = nil }
    for path in goneB { b.entries[path] = nil }
    let (entriesA, entriesB) = (a.entries, b.entries)
    for path in 0..<paths {
      if let entry = entriesB[path] { a.put(path, entry) }
      if let entry = entriesA[path] { b.put(path, entry) }
    }
    if let mine = a.life, let theirs = b.life {
      let life = Life.beats(mine, theirs) ? mine : theirs
      (a.life, b.life) = (life, life)
    }
    let low = max(a.low, b.low)
    (a.low, b.low) = (low, low)
    a.applyFloor()
    b.applyFloor()
    a.log.formUnion(b.log)
    b.log = a.log
  }

  /// What a reader sees once the operations of `log` have met.
  static func fold(_ log: OperationSet, of operations: [Operation]) -> [Int?]? {
    fold(operations.indices.filter(log.contains).map { operations[$0] }, paths: paths).visible
  }

  /// What operations come to that have met, in any order.
  package struct Folded {
    package fileprivate(set) var life: (stamp: ModelStamp, isAlive: Bool)?
    package fileprivate(set) var low = ModelStamp.zero
    /// The values of a living document, by path.
    package fileprivate(set) var visible: [Int?]?
  }

  /// Folds operations on a document of so many paths.
  package static func fold(_ met: [Operation], paths: Int) -> Folded {
    var life: (stamp: ModelStamp, isAlive: Bool)?
    var low = ModelStamp.zero
    var entries: [Entry?] = Array(repeating: nil, count: paths)
    for case .life(let stamp, let isAlive, let floor) in met {
      low = max(low, floor)
      if life.map({ (stamp, isAlive ? 1 : 0) > ($0.stamp, $0.isAlive ? 1 : 0) }) ?? true {
        life = (stamp, isAlive)
      }
    }
    guard life?.isAlive == true else { return Folded(life: life, low: low) }
    for case .entry(let path, let stamp, let value) in met where low.reading == 0 || stamp > low {
      let entry = Entry(stamp: stamp, value: value, writer: .none)
      if entries[path].map({ Entry.beats(entry, $0) }) ?? true { entries[path] = entry }
    }
    return Folded(life: life, low: low, visible: entries.map { $0?.value })
  }
}
