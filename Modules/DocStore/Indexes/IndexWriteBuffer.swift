import CLMDB
import CRDTCore

/// Rows that a transaction will add and remove, kept until they are written in key order.
///
/// Documents arrive in the order of their ids, so their rows are spread over an index. After sorting, most
/// rows are on the same page as the one before.
struct IndexWriteBuffer {
  private struct Step {
    /// The first bytes of the key after the index's number; they determine the order of most rows.
    let prefix: UInt64
    let start: Int
    let count: UInt16
    let value: RowValue
    let isRemoval: Bool
  }

  private struct List {
    let index: UInt64
    var steps: [Step] = []
  }

  private var bytes: [UInt8] = []
  private var lists: [List] = []

  /// The rows are written when their keys exceed this, which limits the memory of large transactions.
  private static let maximumBytes = 2 << 20

  var isEmpty: Bool { bytes.isEmpty }
  var isFull: Bool { bytes.count >= Self.maximumBytes }

  /// Adds the row under `key`, or removes it; of several steps on one key the last one counts.
  mutating func append(_ key: RawSpan, _ value: RowValue, isRemoval: Bool) {
    // Keys in this buffer begin with an index number.
    let (index, numberBytes) = OrderedInteger.read(key) ?? (0, 0)
    let step = Step(
      prefix: Self.prefix(key, from: numberBytes), start: bytes.count, count: UInt16(key.byteCount),
      value: value, isRemoval: isRemoval)
    unsafe key.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    if let place = lists.firstIndex(where: { $0.index == index }) {
      lists[place].steps.append(step)
    } else {
      lists.append(List(index: index, steps: [step]))
    }
  }

  private static func prefix(_ key: RawSpan, from start: Int) -> UInt64 {
    if key.byteCount >= start + 8 {
      return UInt64(bigEndian: unsafe key.unsafeLoadUnaligned(fromByteOffset: start, as: UInt64.self))
    }
    var word: UInt64 = 0
    for offset in start..<start + 8 {
      word <<= 8
      guard offset < key.byteCount else { continue }
      word |= UInt64(unsafe key.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt8.self))
    }
    return word
  }

  /// Writes all rows, and empties the buffer.
  mutating func flush(_ access: PageAccess, _ tables: Tables) throws(StoreError) {
    guard !isEmpty else { return }
    let cursor = try RowCursor(access, tables.rows)
    for place in lists.indices {
      sort(&lists[place].steps)
      try apply(lists[place].steps, cursor)
      lists[place].steps.removeAll(keepingCapacity: true)
    }
    bytes.removeAll(keepingCapacity: true)
  }

  private func sort(_ steps: inout [Step]) {
    let keys = bytes.rawBytes
    steps.sort { a, b in
      if a.prefix != b.prefix { return a.prefix < b.prefix }
      let order = keys.extracting(a.start..<a.start + Int(a.count))
        .compare(keys.extracting(b.start..<b.start + Int(b.count)))
      return order != 0 ? order < 0 : a.start < b.start
    }
  }

  private func apply(_ steps: [Step], _ cursor: borrowing RowCursor) throws(StoreError) {
    let keys = bytes.rawBytes
    for place in steps.indices {
      let step = steps[place]
      let key = keys.extracting(step.start..<step.start + Int(step.count))
      if place + 1 < steps.count, steps[place + 1].prefix == step.prefix {
        let next = steps[place + 1]
        if keys.extracting(next.start..<next.start + Int(next.count)).isEqual(to: key) { continue }
      }
      if step.isRemoval {
        try cursor.remove(key)
      } else {
        try cursor.put(key, step.value)
      }
    }
  }
}
