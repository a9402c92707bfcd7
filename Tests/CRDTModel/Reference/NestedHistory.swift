import TestKit

/// One replica of a document with nested maps, in dictionaries: registers and floors, by path.
struct NestedModel {
  enum Content: Hashable {
    case map, removed
    case value(Int)

    var isCover: Bool { self != .map }
    var rank: Int {
      switch self {
      case .map: -2
      case .removed: -1
      case .value(let value): value
      }
    }
  }

  struct Entry: Hashable {
    var stamp: ModelStamp
    var content: Content
  }

  struct Operation: Hashable {
    var path: [String]
    var entry: Entry
  }

  let site: Int
  let controls: ReferenceControls
  var clock: UInt64 = 0
  var entries: [[String]: Entry] = [:]
  var floors: [[String]: ModelStamp] = [:]
  var vector: [Int: UInt64] = [:]
  var log: Set<Operation> = []

  static func ancestors(_ path: [String]) -> [[String]] { (1..<path.count).map { Array(path[..<$0]) } }

  func floor(at path: [String]) -> ModelStamp {
    if !controls.contains(.noFloor) { return floors[path] ?? .zero }
    guard let entry = entries[path], entry.content.isCover else { return .zero }
    return entry.stamp
  }

  private func isHidden(_ path: [String], _ stamp: ModelStamp) -> Bool {
    Self.ancestors(path).contains { floor(at: $0).reading > 0 && stamp <= floor(at: $0) }
  }

  private mutating func prune() {
    let (entriesBefore, floorsBefore) = (entries, floors)
    for (path, entry) in entriesBefore where isHidden(path, entry.stamp) { entries[path] = nil }
    for (path, stamp) in floorsBefore where isHidden(path, stamp) { floors[path] = nil }
  }

  mutating func write(_ now: UInt64, _ path: [String], _ content: Content) {
    var reading = max(clock + 1, now, (vector.values.max() ?? 0) + 1)
    for path in Self.ancestors(path) + [path] {
      reading = max(reading, (entries[path]?.stamp.reading ?? 0) + 1, (floors[path]?.reading ?? 0) + 1)
    }
    clock = reading
    let stamp = ModelStamp(reading: reading, site: site)
    // A write below a path that is not a map makes it one.
    let made = Self.ancestors(path).filter { entries[$0]?.content != .map }
    for (path, content) in made.map({ ($0, Content.map) }) + [(path, content)] {
      put(path, Entry(stamp: stamp, content: content))
      log.insert(Operation(path: path, entry: Entry(stamp: stamp, content: content)))
    }
    vector[site] = reading
    prune()
  }

  private mutating func put(_ path: [String], _ entry: Entry) {
    let mine = entries[path]
    if mine.map({ entry.stamp != $0.stamp ? entry.stamp > $0.stamp : entry.content.rank > $0.content.rank })
      ?? true
    {
      entries[path] = entry
    }
    guard !controls.contains(.noFloor), entry.content.isCover, entry.stamp > floor(at: path) else { return }
    floors[path] = entry.stamp
  }

  private func covers(_ stamp: ModelStamp) -> Bool { vector[stamp.site].map { $0 >= stamp.reading } ?? false }

  mutating func collect(before horizon: UInt64) {
    entries = entries.filter { $0.value.content != .removed || $0.value.stamp.reading >= horizon }
    floors = floors.filter { path, stamp in
      stamp.reading >= horizon || entries[path].map { $0.content != .map } ?? false
    }
  }

  /// `b` pulls the document from `a`.
  static func pull(_ b: inout NestedModel, _ a: inout NestedModel) {
    let entries = a.entries.filter { !b.covers($0.value.stamp) }
    for (path, stamp) in a.floors where !b.covers(stamp) && stamp > b.floor(at: path) {
      b.floors[path] = stamp
    }
    for (path, entry) in entries { b.put(path, entry) }
    for (site, reading) in a.vector { b.vector[site] = max(b.vector[site, default: 0], reading) }
    b.clock = max(b.clock, b.vector.values.max() ?? 0)
    b.prune()
    b.log.formUnion(a.log)
    guard b.controls.isDisjoint(with: [.noRepair, .noFloor]), a.vector == b.vector else { return }
    if a.live != b.live { repair(&a, &b) }
  }

  private var live: [[String]: Entry] { entries.filter { $0.value.content != .removed } }

  private static func repair(_ a: inout NestedModel, _ b: inout NestedModel) {
    func gone(_ x: NestedModel, _ y: NestedModel) -> [[String]] {
      x.live.filter { y.entries[$0.key] != $0.value && y.covers($0.value.stamp) }.map(\.key)
    }
    let (goneA, goneB) = (gone(a, b), gone(b, a))
    for path in goneA { a.entries[path] = nil }
    for path in goneB { b.entries[path] = nil }
    let (beforeA, beforeB) = (a, b)
    a.take(beforeB)
    b.take(beforeA)
  }

  private mutating func take(_ other: NestedModel) {
    for (path, stamp) in other.floors where stamp > floor(at: path) { floors[path] = stamp }
    for (path, entry) in other.entries { put(path, entry) }
    prune()
  }

  /// The leaves that a reader sees, and empty maps.
  var visible: [[String]: Content] { entries.filter { isShown($0.key, $0.value) }.mapValues(\.content) }

  private func isShown(_ path: [String], _ entry: Entry) -> Bool {
    guard entry.content != .removed else { return false }
    let hasChildren = entries.contains {
      $0.key.count > path.count && $0.key.starts(with: path) && $0.value.content != .removed
    }
    return !hasChildren
  }

  static func fold(_ log: Set<Operation>) -> [[String]: Content] {
    var model = NestedModel(site: -1, controls: [])
    for operation in log { model.put(operation.path, operation.entry) }
    model.prune()
    return model.visible
  }
}

/// A random history of three replicas of the nested reference model, against its log.
package struct NestedHistory: SeededHistory {
  private static let paths = [
    ["a"], ["b"], ["a", "x"], ["a", "y"], ["b", "x"], ["a", "x", "p"], ["a", "x", "q"],
  ]

  private let seed: UInt64
  private let controls: ReferenceControls
  private var replicas: [NestedModel]
  private var now: UInt64 = 10
  private let lifetime: UInt64
  package let stepCount: Int
  package var trace: Trace?

  package init(seed: UInt64, controls: ReferenceControls = []) {
    self.seed = seed
    self.controls = controls
    var generator = SeededGenerator(seed: seed)
    lifetime = generator.pick([0, 5, 30])
    stepCount = 8 + generator.int(below: 38)
    replicas = (0..<3).map { NestedModel(site: $0, controls: controls) }
  }

  package mutating func run(step: Int) throws {
    var generator = SeededGenerator(seed: seed, step: step)
    now += UInt64(generator.int(below: 4))
    let index = generator.int(below: 3)
    switch generator.int(below: 100) {
    case ..<50:
      let path = generator.pick(Self.paths)
      let content = generator.pick([NestedModel.Content.value(step), .value(step), .map, .removed])
      let skewed = UInt64(max(Int(now) + generator.pick([0, 0, -6, 5]), 0))
      trace?.add("\(index) writes \(content) at \(path), \(skewed)")
      replicas[index].write(skewed, path, content)
    case ..<58 where controls.contains(.collectFields):
      trace?.add("\(index) collects")
      replicas[index].collect(before: now - min(lifetime, now))
    default:
      let from = (index + 1 + generator.int(below: 2)) % 3
      trace?.add("\(index) pulls from \(from)")
      pull(index, from)
    }
  }

  private mutating func pull(_ to: Int, _ from: Int) {
    var (b, a) = (replicas[to], replicas[from])
    NestedModel.pull(&b, &a)
    (replicas[to], replicas[from]) = (b, a)
  }

  package mutating func finish() throws {
    for _ in 0..<5 { for a in 0..<3 { for b in 0..<3 where a != b { pull(a, b) } } }
    let views = replicas.map(\.visible)
    guard views.allSatisfy({ $0 == views[0] }) else { throw LawFailure("replicas diverged") }
    let log = replicas.reduce(into: Set<NestedModel.Operation>()) { $0.formUnion($1.log) }
    guard views[0] == NestedModel.fold(log) || controls.contains(.collectFields) else {
      throw LawFailure("replicas differ from the log")
    }
  }
}
