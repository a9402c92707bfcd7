/// Lists of places, most of which have a single place, in one array.
struct PlaceLists: Sendable {
  /// The first link of a list, which identifies it.
  typealias Head = Int32

  private var links: [(place: Int32, next: Head?)] = []

  /// The bytes of memory that they use.
  var byteCount: Int { links.capacity * MemoryLayout<(place: Int32, next: Head?)>.stride }

  /// Adds a place at the front of a list.
  ///
  /// - Returns: The longer list.
  mutating func adding(_ place: Int, to head: Head?) -> Head {
    links.append((Int32(place), head))
    return Head(links.count - 1)
  }

  /// Whether `accepts` accepts a place of a list; it is not called again after that.
  func contains(in head: Head?, where accepts: (Int) -> Bool) -> Bool {
    var next = head
    while let link = next {
      if accepts(Int(links[Int(link)].place)) { return true }
      next = links[Int(link)].next
    }
    return false
  }
}
