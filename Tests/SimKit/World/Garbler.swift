/// Makes of a line's chunks what a line delivers that breaks its contract.
struct Garbler {
  /// What is to happen when so many bytes have arrived.
  private var pending: [(place: Int, how: Garbling)] = []
  /// A chunk that waits for the next one.
  private var held: [UInt8]?
  /// The end of what has arrived, while somebody may want it again.
  private var tail: [UInt8] = []

  private static let tailBytes = 4_096

  var isHolding: Bool { held != nil }

  mutating func add(_ how: Garbling, at place: Int) { pending.append((place, how)) }

  /// What arrives in place of a chunk, and what was done to it.
  mutating func pass(_ chunk: [UInt8], at place: Int) -> (chunks: [[UInt8]], done: Garbling?) {
    if let held {
      self.held = nil
      return ([chunk, held], .swapped)
    }
    guard !pending.isEmpty else { return ([chunk], nil) }
    tail = Array((tail + chunk).suffix(Self.tailBytes))
    guard !chunk.isEmpty, let index = pending.firstIndex(where: { $0.place < place + chunk.count }) else {
      return ([chunk], nil)
    }
    let how = pending.remove(at: index).how
    switch how {
    case .repeated: return ([chunk, chunk], how)
    case .repeatedBytes(let count): return ([chunk, Array(tail.suffix(max(count, 1)))], how)
    case .lost: return ([], how)
    case .swapped:
      held = chunk
      return ([], nil)
    case .flipped(let bit):
      var chunk = chunk
      chunk[bit / 8 % chunk.count] ^= 1 << UInt8(bit % 8)
      return ([chunk], how)
    }
  }

  /// Ends it: what is to happen does not, and what waits arrives.
  mutating func end() -> [UInt8]? {
    pending = []
    defer { held = nil }
    return held
  }
}
