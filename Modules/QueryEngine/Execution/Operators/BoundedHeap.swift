import CRDTCore

/// The first rows of an order, kept while more are offered: a binary heap with the last of them at the top.
///
/// Source: Knuth, "The Art of Computer Programming", volume 3, section 5.2.3; O(log *n*) for each row kept.
struct BoundedHeap {
  private let order: RowOrder
  private let capacity: Int
  private var rows: [SortedRow] = []
  /// The prefix of the last row that is kept, once there are enough rows.
  private var lastPrefix = UInt64.max

  init(order: RowOrder, capacity: Int) {
    self.order = order
    self.capacity = capacity
  }

  /// Whether the heap is full, so that a new row replaces another.
  var isFull: Bool { rows.count == capacity }

  /// Whether a row with these keys would be kept if it arrived after all others.
  func accepts(_ keys: [Value?]) -> Bool {
    guard rows.count == capacity else { return true }
    guard let last = rows.first else { return false }
    return order.compare(keys, last.keys) < 0
  }

  /// Whether a row with this ``RowOrder/prefix(_:)`` surely comes after all that are kept.
  ///
  /// It is `false` until enough rows are kept. Where it is `false`, ``accepts(_:)`` decides.
  func refuses(_ prefix: UInt64) -> Bool { rows.count == capacity && prefix > lastPrefix }

  mutating func insert(_ row: SortedRow) {
    defer { if rows.count == capacity, let last = rows.first { lastPrefix = order.prefix(last.keys) } }
    guard capacity > 0 else { return }
    if rows.count < capacity {
      rows.append(row)
      siftUp()
    } else {
      rows[0] = row
      siftDown()
    }
  }

  /// The rows in order.
  consuming func sorted() -> [SortedRow] {
    let order = order
    return rows.sorted { order.precedes($0, $1) }
  }

  private mutating func siftUp() {
    var child = rows.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard order.precedes(rows[parent], rows[child]) else { return }
      rows.swapAt(parent, child)
      child = parent
    }
  }

  private mutating func siftDown() {
    var parent = 0
    while true {
      var largest = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < rows.count {
        if order.precedes(rows[largest], rows[child]) { largest = child }
      }
      guard largest != parent else { return }
      rows.swapAt(parent, largest)
      parent = largest
    }
  }
}
