/// The merge metadata of a record: everything about stamps that "all entries bear the base stamp"
/// does not already say.
///
/// A byte that says which parts there are; writers with birth and latest reading (the version vector);
/// the base's writer and this store's own; then the parts: a life of its own, the document's floor, and,
/// each a varint count and its items, entries with a stamp of their own, counters, registers that are
/// not seen, and floors.
struct RecordMetadata {
  struct Parts: OptionSet {
    let rawValue: UInt8
    /// The life has another stamp than the base.
    static let life = Parts(rawValue: 1)
    static let floor = Parts(rawValue: 2)
    static let marks = Parts(rawValue: 4)
    static let counters = Parts(rawValue: 8)
    static let hidden = Parts(rawValue: 16)
    static let floors = Parts(rawValue: 32)
    /// The life is a death whose writer is not known.
    static let bareLife = Parts(rawValue: 64)
    /// A counter has contributions of writers that the vector does not list.
    static let unlisted = Parts(rawValue: 128)
    static let known = Parts(rawValue: 255)
    /// All that is edited in place.
    static let patchable = Parts(rawValue: 127)
  }

  /// A register's stamp by reference: 0 is default data, `none` is no register, else a writer + 1.
  struct Mark: Equatable {
    var writer: Int
    var reading: ClockReading
  }

  struct Counter {
    var entry: Int
    var state: CounterState
  }

  struct Hidden {
    var path: [TextKey]
    var register: Register
  }

  struct Floor {
    var path: [TextKey]
    var floor: Node.Floor
  }

  var vector = VersionVector()
  var base = Mark(writer: 0, reading: .zero)
  var ownWriter = 0
  var life = Mark(writer: 0, reading: .zero)
  /// Stands in the place of `life` where that is known from a death certificate alone.
  var bareLife: Stamp?
  var floor = Stamp.zero
  /// Entry index in the order of the tree, then its stamp.
  var marks: [(entry: Int, mark: Mark)] = []
  var counters: [Counter] = []
  var hidden: [Hidden] = []
  var floors: [Floor] = []

  var parts: Parts {
    var parts: Parts = []
    if bareLife != nil { parts.insert(.bareLife) } else if life != base { parts.insert(.life) }
    if floor > .zero { parts.insert(.floor) }
    if !marks.isEmpty { parts.insert(.marks) }
    if !counters.isEmpty { parts.insert(.counters) }
    if !hidden.isEmpty { parts.insert(.hidden) }
    if !floors.isEmpty { parts.insert(.floors) }
    if hasUnlisted { parts.insert(.unlisted) }
    return parts
  }

  private var hasUnlisted: Bool {
    let hidden = hidden.lazy.compactMap { item in
      if case .counter(let state) = item.register.content { state } else { CounterState?.none }
    }
    let isUnlisted = { (contribution: CounterState.Contribution) in index(of: contribution.writer) == 0 }
    return counters.contains { $0.state.contributions.contains(where: isUnlisted) }
      || hidden.contains { $0.contributions.contains(where: isUnlisted) }
  }

  /// The reference of an entry that shows a map without a register of its own.
  var noRegister: Int { vector.elements.count + 1 }

  func index(of writer: Writer) -> Int {
    writer.birth == .zero ? 0 : (vector.index(of: writer) ?? -1) + 1
  }

  func mark(_ stamp: Stamp, _ birth: ClockReading) -> Mark {
    Mark(writer: index(of: Writer(site: stamp.site, birth: birth)), reading: stamp.reading)
  }

  func writer(_ mark: Mark) -> Writer {
    mark.writer > 0 && mark.writer <= vector.elements.count
      ? vector.elements[mark.writer - 1].writer : Writer(site: .zero, birth: .zero)
  }
}
