/// Bytes that wait to be cut into packets.
package struct OutgoingBytes: Sendable {
  private var pieces: [[UInt8]] = []
  /// The first piece that has bytes left, and how many of its were taken.
  private var first = 0
  private var taken = 0
  /// Bytes that wait.
  package private(set) var count = 0

  /// Nothing yet.
  package init() {}

  /// Puts pieces behind all earlier ones.
  package mutating func append(_ pieces: [[UInt8]]) {
    for piece in pieces where !piece.isEmpty {
      self.pieces.append(piece)
      count += piece.count
    }
  }

  /// Takes up to `limit` bytes off the front.
  package mutating func take(atMost limit: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(min(limit, count))
    while bytes.count < limit, first < pieces.count {
      let end = min(pieces[first].count, taken + limit - bytes.count)
      bytes += pieces[first][taken..<end]
      taken = end
      if taken == pieces[first].count { advance() }
    }
    count -= bytes.count
    return bytes
  }

  private mutating func advance() {
    // Its memory goes at once, its place with those of many others.
    pieces[first] = []
    first += 1
    taken = 0
    guard first >= 64, first * 2 >= pieces.count else { return }
    pieces.removeFirst(first)
    first = 0
  }
}
