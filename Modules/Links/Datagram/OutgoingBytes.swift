/// Bytes that wait to be split into packets.
package struct OutgoingBytes: Sendable {
  private var pieces: [[UInt8]] = []
  /// The first piece that has bytes left, and how many of its bytes were taken.
  private var first = 0
  private var taken = 0
  /// The number of waiting bytes.
  package private(set) var count = 0

  /// Starts empty.
  package init() {}

  /// Queues pieces after all earlier ones.
  package mutating func append(_ pieces: [[UInt8]]) {
    for piece in pieces where !piece.isEmpty {
      self.pieces.append(piece)
      count += piece.count
    }
  }

  /// Removes up to `limit` bytes from the front.
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
    // Frees the memory of the piece at once. The array's slots are freed later, many at a time.
    pieces[first] = []
    first += 1
    taken = 0
    guard first >= 64, first * 2 >= pieces.count else { return }
    pieces.removeFirst(first)
    first = 0
  }
}
