/// Lists of places, most of which have a single one, in one array.
struct PlaceLists: Sendable {
  /// A list is known by its first link.
  typealias Head = Int32

  private var links: [(place: Int32, next: Head?)] = []

  /// Bytes of memory that they take.
  var byteCount: Int { links.capacity * MemoryLayout<(place: Int32, next: Head?)>.stride }

  /// Puts a place in front of a list.
  ///
  /// - Returns: The longer list.
  mutating func adding(_ place: Int, to head: Head?) -> Head {
    links.append((Int32(place), head))
    return Head(links.count - 1)
  }

  /// Whether `accepts` accepts a place of a list; it is asked of no more after that.
  func contains(in head: Head?, where accepts: (Int) -> Bool) -> Bool {
    var next = head
    while let link = next {
      if accepts(Int(links[Int(link)].place)) { return true }
      next = links[Int(link)].next
    }
    return false
  }
}
