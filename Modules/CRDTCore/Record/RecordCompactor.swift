/// Rewrites a record's nodes and heap, without the dead bytes that patches leave behind.
struct RecordCompactor {
  private var builder = RecordBuilder()
  private var budget: EntryBudget

  /// - Returns: The same document, in as few bytes as encoding its values would take.
  /// - Throws: A `CodecError` when the record is damaged.
  static func compact(_ record: [UInt8]) throws(CodecError) -> [UInt8] {
    let view = RecordView(record.span.bytes)
    var compactor = RecordCompactor(budget: EntryBudget(view.bytes))
    let root = try compactor.copy(view.root, depth: 0)
    return compactor.builder.finish(root: root, like: view)
  }

  private init(budget: EntryBudget) { self.budget = budget }

  private mutating func copy(_ node: borrowing MapNode, depth: Int) throws(CodecError) -> Int {
    guard depth <= Limits.depth else { throw CodecError(.limit, "a map is nested too deep", at: node.offset) }
    try budget.spend(on: node)
    let map = builder.beginMap(count: node.count, carriesKeys: node.carriesKeys)
    for index in 0..<node.count {
      if node.carriesKeys {
        builder.setKey(node.inlineKey(index), at: index, of: map)
      } else {
        builder.setKey(node.keyID(index), at: index, of: map)
      }
      let value = ValueRef(node.record, slotAt: node.slotOffset(index))
      let slot: UInt64
      switch RecordLayout.Tag(rawValue: value.tag) {
      case .map: slot = builder.mapSlot(try copy(value.node, depth: depth + 1))
      case .wideInt: slot = builder.intSlot(value.int)
      case .wideCounter: slot = builder.intSlot(value.int, counter: true)
      case .double: slot = builder.doubleSlot(value.double)
      case .string: slot = builder.heapSlot(.string, value.bytes)
      case .bytes: slot = builder.heapSlot(.bytes, value.bytes)
      case .array: slot = builder.heapSlot(.array, value.bytes)
      case .attachment: slot = builder.heapSlot(.attachment, value.bytes)
      case .null, .no, .yes, .int, .shortDouble, .shortString, .counter, nil: slot = value.slot
      }
      let at = builder.slotOffset(index, of: map, count: node.count, carriesKeys: node.carriesKeys)
      builder.setSlot(slot, at: at)
    }
    return map
  }
}
