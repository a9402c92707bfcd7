package import CRDTCore

/// Rules to leave out of the model; each must then show failures.
package struct ModelControls: OptionSet {
  package let rawValue: Int

  package init(rawValue: Int) { self.rawValue = rawValue }

  /// Version vectors by site instead of by (site, birth).
  package static let noBirth = ModelControls(rawValue: 1)
  /// The document's floor travels with its last life instead of being a maximum of its own.
  package static let floorInLife = ModelControls(rawValue: 2)
  /// Only the register that stands at a path now hides what lies below it.
  package static let noFloor = ModelControls(rawValue: 4)
}

package struct ModelStamp: Comparable, Hashable {
  package var reading: UInt64
  package var site: Int

  package static let zero = ModelStamp(reading: 0, site: -1)

  package init(reading: UInt64, site: Int) {
    self.reading = reading
    self.site = site
  }

  package static func < (a: ModelStamp, b: ModelStamp) -> Bool {
    a.reading != b.reading ? a.reading < b.reading : a.site < b.site
  }
}

package struct ModelWriter: Hashable {
  package var site: Int
  package var birth: UInt64

  package static let none = ModelWriter(site: -1, birth: 0)
}

package enum ModelContent: Hashable {
  case map, removed
  case text(Int), int(Int64), counter(Int64)

  package var isCover: Bool { self != .map }

  package var isNumber: Bool {
    switch self {
    case .int, .counter: true
    case .map, .removed, .text: false
    }
  }

  /// Settles equal stamps.
  package var rank: (Int, Int64) {
    switch self {
    case .map: (0, 0)
    case .removed: (1, 0)
    case .text(let number): (2, Int64(number))
    case .int(let number): (3, number)
    case .counter(let base): (4, base)
    }
  }

  /// This and another content of one stamp: a counter takes over an integer as its base.
  package func settled(with other: ModelContent) -> ModelContent {
    switch (self, other) {
    case (.counter(let a), .int(let b)), (.int(let a), .counter(let b)), (.counter(let a), .counter(let b)):
      .counter(max(a, b))
    default: rank >= other.rank ? self : other
    }
  }

  package func value(adding amount: Int64) -> Value? {
    switch self {
    case .map: .map([:])
    case .removed: nil
    case .text(let number): .string("t\(number)")
    case .int(let number): .int(number)
    case .counter(let base): .counter(base + amount)
    }
  }
}

/// An executable model of one document at one replica: plain dictionaries and the rules of the design,
/// written with no regard for speed or size.
package struct ModelDocument {
  package struct Contribution: Hashable {
    var reading: UInt64
    var amount: Int64
  }

  package struct Entry: Hashable {
    var stamp: ModelStamp
    var writer: ModelWriter
    var content: ModelContent
    var contributions: [ModelWriter: Contribution] = [:]
  }

  package struct Floor: Hashable {
    var stamp: ModelStamp
    var writer: ModelWriter
  }

  package struct Life: Hashable {
    var stamp: ModelStamp
    var isAlive: Bool
    /// The floor that came with it; only the control that lets the floor travel so looks at it.
    var floor: ModelStamp
  }

  package let controls: ModelControls
  package var entries: [Entry?] = Array(repeating: nil, count: ModelPath.count)
  /// The greatest stamp at which something other than a map stood at a path, also where it still stands.
  package var floors: [Floor?] = Array(repeating: nil, count: ModelPath.count)
  package var low = ModelStamp.zero
  package var life: Life?
  package var vector: [ModelWriter: UInt64] = [:]
  package var birth: UInt64?
  /// Operations of the history that are known here.
  package var log = OperationSet()

  package init(_ controls: ModelControls) { self.controls = controls }

  package var isAlive: Bool { life?.isAlive ?? false }

  // MARK: - Reading

  package func floor(at path: Int) -> ModelStamp {
    if !controls.contains(.noFloor) { return floors[path]?.stamp ?? .zero }
    guard let entry = entries[path], entry.content.isCover else { return .zero }
    return entry.stamp
  }

  package func isHidden(_ path: Int, _ stamp: ModelStamp) -> Bool {
    low > .zero && stamp <= low
      || ModelPath.ancestors[path].contains { floor(at: $0) > .zero && stamp <= floor(at: $0) }
  }

  package func value(at path: Int) -> Value? {
    let below = fields(ModelPath.children[path])
    if !below.isEmpty { return .map(below) }
    guard let entry = entries[path] else { return nil }
    return entry.content.value(adding: entry.contributions.values.reduce(0) { $0 + $1.amount })
  }

  private func fields(_ paths: [Int]) -> [TextKey: Value] {
    var fields: [TextKey: Value] = [:]
    for path in paths { fields[ModelPath.names[path][ModelPath.names[path].count - 1]] = value(at: path) }
    return fields
  }

  /// What a reader sees; `nil` for a document that is unknown or deleted.
  package var visible: [TextKey: Value]? { isAlive ? fields(ModelPath.top) : nil }

  // MARK: - Merging

  package func covers(_ writer: ModelWriter, _ reading: UInt64) -> Bool {
    reading > 0 && vector[writer, default: 0] >= reading
  }

  package func dominates(_ base: [ModelWriter: UInt64]) -> Bool {
    base.allSatisfy { vector[$0.key, default: 0] >= $0.value }
  }

  /// Joins what a peer had when it sent; `false` when its delta builds on what is not here.
  package mutating func merge(_ incoming: ModelDocument, base: [ModelWriter: UInt64]) -> Bool {
    guard let theirLife = incoming.life else { return true }
    guard dominates(base) else { return false }
    for path in 0..<ModelPath.count {
      if let floor = incoming.floors[path], !covers(floor.writer, floor.stamp.reading) { raise(path, floor) }
      guard let entry = incoming.entries[path] else { continue }
      if !covers(entry.writer, entry.stamp.reading) {
        var entry = entry
        if entry.stamp == .zero {
          entry.contributions = entry.contributions.filter { !covers($0.key, $0.value.reading) }
        }
        put(path, entry)
      }
      guard let mine = entries[path], mine.stamp == entry.stamp, mine.content.isNumber else { continue }
      for (writer, theirs) in entry.contributions where !covers(writer, theirs.reading) {
        entries[path] = entries[path]?.adding(theirs, of: writer)
      }
    }
    for (writer, reading) in incoming.vector { vector[writer] = max(vector[writer, default: 0], reading) }
    low = max(low, incoming.low)
    if life.map({ (theirLife.stamp, theirLife.isAlive ? 1 : 0) > ($0.stamp, $0.isAlive ? 1 : 0) }) ?? true {
      life = theirLife
    }
    if controls.contains(.floorInLife) { low = life?.floor ?? .zero }
    prune()
    log.formUnion(incoming.log)
    return true
  }

  package mutating func raise(_ path: Int, _ floor: Floor) {
    if floor.stamp > floors[path]?.stamp ?? .zero { floors[path] = floor }
  }

  package mutating func put(_ path: Int, _ incoming: Entry) {
    if incoming.content.isCover, incoming.stamp > .zero {
      raise(path, Floor(stamp: incoming.stamp, writer: incoming.writer))
    }
    guard let mine = entries[path], mine.stamp >= incoming.stamp else {
      entries[path] = incoming
      return
    }
    guard mine.stamp == incoming.stamp else { return }
    var settled = mine
    settled.content = mine.content.settled(with: incoming.content)
    for (writer, theirs) in incoming.contributions { settled = settled.adding(theirs, of: writer) }
    entries[path] = settled
  }

  package mutating func prune() {
    for path in 0..<ModelPath.count {
      if let entry = entries[path], isHidden(path, entry.stamp) { entries[path] = nil }
    }
    for path in 0..<ModelPath.count {
      if let floor = floors[path], isHidden(path, floor.stamp) { floors[path] = nil }
    }
  }
}

extension ModelDocument.Entry {
  fileprivate func adding(_ theirs: ModelDocument.Contribution, of writer: ModelWriter) -> Self {
    var entry = self
    if case .int(let number) = content { entry.content = .counter(number) }
    if let mine = contributions[writer], mine.reading >= theirs.reading { return entry }
    entry.contributions[writer] = theirs
    return entry
  }
}
