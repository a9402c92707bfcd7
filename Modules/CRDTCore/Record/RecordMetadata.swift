/// The merge metadata of a record: all stamps that differ from the base stamp.
///
/// It begins with a byte that says which parts follow. Then come the writers with birth and latest reading
/// (the version vector), the base's writer, and this store's own writer. The parts are: a separate life, the
/// document's floor, and lists of entries with their own stamp, counters, invisible registers, and floors.
/// Each list is a varint count and its items.
struct RecordMetadata {
  struct Parts: OptionSet {
    let rawValue: UInt8
    /// The life has a stamp other than the base stamp.
    static let life = Parts(rawValue: 1)
    static let floor = Parts(rawValue: 2)
    static let marks = Parts(rawValue: 4)
    static let counters = Parts(rawValue: 8)
    static let hidden = Parts(rawValue: 16)
    static let floors = Parts(rawValue: 32)
    /// The life is a deletion whose writer is not known.
    static let bareLife = Parts(rawValue: 64)
    /// A counter has contributions of writers that the vector does not list.
    static let unlisted = Parts(rawValue: 128)
    static let known = Parts(rawValue: 255)
    /// All parts that are edited in place.
    static let patchable = Parts(rawValue: 127)
  }

  /// A register's stamp by reference: 0 is default data, `noRegister` is no register, otherwise a writer + 1.
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
  /// Replaces `life` if that is known only from a compacted tombstone.
  var bareLife: Stamp?
  var floor = Stamp.zero
  /// The number of an entry in tree order, then its stamp.
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

  /// The reference of an entry that shows a map without its own register.
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
