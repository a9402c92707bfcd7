/// What a writer put at a path: the smallest unit of a document's state.
struct Register: Hashable, Sendable {
  enum Content: Hashable, Sendable {
    /// A scalar, bytes, an attachment or a whole array; never a map or a counter.
    case value(Value)
    /// The marker of a map, whose fields are separate registers.
    case map
    /// A removal; with `overDefault`, it hides default data, which no version vector covers, so it must stay.
    ///
    /// Each replica records for itself whether it has met default data; this is not part of the state that
    /// merges.
    case removed(overDefault: Bool)
    case counter(CounterState)
  }

  var stamp: Stamp
  /// The writer's birth; the stamp's site and the birth identify the writer.
  var birth: ClockReading
  var content: Content

  var writer: Writer { Writer(site: stamp.site, birth: birth) }
  var isDefault: Bool { stamp.reading == .zero }

  /// Whether it removes what is below its path: all contents do, except a map.
  var isCover: Bool { content != .map }

  var isCounter: Bool { if case .counter = content { true } else { false } }

  var isRemoved: Bool { content.isRemoved }

  /// Whether this register wins against `other`: by stamp, then by the bytes of its content.
  ///
  /// Two openings of a store can write one content with one stamp; then the later birth wins at every
  /// replica.
  func beats(_ other: Register) -> Bool {
    if stamp != other.stamp { return stamp > other.stamp }
    let (mine, theirs) = (content.tieBreak, other.content.tieBreak)
    return mine == theirs ? birth > other.birth : theirs.lexicographicallyPrecedes(mine)
  }
}

extension Register.Content {
  var isRemoved: Bool { if case .removed = self { true } else { false } }

  /// A counter, or the integer that becomes a counter's base at the first increment.
  var asCounter: CounterState? {
    switch self {
    case .counter(let state): state
    case .value(.int(let number)): CounterState(base: number)
    case .value, .map, .removed: nil
    }
  }

  /// Bytes whose order breaks ties between equal stamps.
  ///
  /// The order is: maps, removals, values, integers by their value, counters. Only default data of different
  /// devices has equal stamps. An increment of one of several default integers must not depend on which of
  /// them was met first.
  fileprivate var tieBreak: [UInt8] {
    var writer = ByteWriter()
    switch self {
    case .map: writer.write(0 as UInt8)
    case .removed: writer.write(1 as UInt8)
    case .value(.int(let number)):
      writer.write(3 as UInt8)
      writer.writeFixed(UInt64(bitPattern: number) ^ (1 << 63))
    case .value(let value):
      writer.write(2 as UInt8)
      ValueCodec.write(value, to: &writer)
    case .counter(let state):
      writer.write(4 as UInt8)
      writer.writeFixed(UInt64(bitPattern: state.base) ^ (1 << 63))
    }
    return writer.bytes
  }
}

/// A counter: the value at the beginning of its epoch, and each writer's sum of increments since.
///
/// The epoch is the stamp of the register that holds the counter. Only one writer writes each contribution,
/// so the contribution with the higher clock reading includes the other.
struct CounterState: Hashable, Sendable {
  struct Contribution: Hashable, Sendable {
    var writer: Writer
    var reading: ClockReading
    var amount: Int64
  }

  var base: Int64
  /// Sorted by writer, each writer once.
  var contributions: [Contribution] = []

  /// The sum; it saturates once, over all contributions, so that every replica saturates alike.
  var sum: Int64 {
    var sum = Int128(base)
    for contribution in contributions { sum += Int128(contribution.amount) }
    return Int64(clamping: sum)
  }

  /// Returns the join of this counter and `other`, which have the same epoch.
  func joined(with other: CounterState) -> CounterState {
    var joined = self
    joined.base = max(base, other.base)
    for contribution in other.contributions { joined.merge(contribution) }
    return joined
  }

  mutating func add(_ amount: Int64, by writer: Writer, at reading: ClockReading) {
    var total = amount
    if let old = contributions.first(where: { $0.writer == writer }) {
      total = Int64(clamping: Int128(old.amount) + Int128(amount))
    }
    merge(Contribution(writer: writer, reading: reading, amount: total))
  }

  mutating func merge(_ incoming: Contribution) {
    var index = contributions.count
    if let last = contributions.last, last.writer >= incoming.writer {
      var low = 0
      while low < index {
        let middle = (low + index) / 2
        if contributions[middle].writer < incoming.writer { low = middle + 1 } else { index = middle }
      }
    }
    guard index < contributions.endIndex, contributions[index].writer == incoming.writer else {
      contributions.insert(incoming, at: index)
      return
    }
    let mine = contributions[index]
    if (incoming.reading, incoming.amount) > (mine.reading, mine.amount) { contributions[index] = incoming }
  }
}
