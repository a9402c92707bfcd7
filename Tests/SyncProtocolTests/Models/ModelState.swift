import TestKit

/// The shared state of the models of following: five documents, and interests in colours.
///
/// A document is a set of stamped operations. The last operation gives it its colour.
enum ModelState {
  static let documents = 5
  static let red: UInt8 = 1
  static let blue: UInt8 = 2
  /// The colour that nobody is interested in: a deletion.
  static let gone: UInt8 = 4

  static func colour(_ random: inout SeededGenerator) -> UInt8 { random.pick([red, blue, gone]) }

  static func interest(_ random: inout SeededGenerator) -> UInt8 { random.pick([red, blue, red | blue]) }
}

/// The operations of one history; a document's state is the set of those that it has, as bits.
struct ModelOperations {
  private var stamps: [(clock: Int, peer: Int)] = []
  private var colours: [UInt8] = []

  static let limit = 128

  var isFull: Bool { stamps.count >= Self.limit }

  mutating func add(clock: Int, peer: Int, colour: UInt8) -> UInt128 {
    stamps.append((clock, peer))
    colours.append(colour)
    return 1 << (stamps.count - 1)
  }

  private func last(_ state: UInt128) -> Int? {
    var left = state
    var last: Int?
    while left != 0 {
      let next = left.trailingZeroBitCount
      left &= left - 1
      if last.map({ stamps[$0] < stamps[next] }) ?? true { last = next }
    }
    return last
  }

  func colour(_ state: UInt128) -> UInt8 { last(state).map { colours[$0] } ?? 0 }

  func clock(_ state: UInt128) -> Int { last(state).map { stamps[$0].clock } ?? 0 }

  func matches(_ state: UInt128, _ interest: UInt8) -> Bool { colour(state) & interest != 0 }
}
