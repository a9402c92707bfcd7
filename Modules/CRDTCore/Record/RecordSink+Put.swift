extension RecordSink {
  /// Replaces one value with another: in the slot, over the old bytes, or at the end of the heap.
  mutating func put(
    _ content: borrowing SlotContent, over old: borrowing ValueRef, at slot: Int, _ dead: inout Int
  ) {
    let (offset, length) = old.heapRange
    let tag = UInt64(content.tag.rawValue)
    switch content.place {
    case .slot:
      dead += length
      store(content.word, at: slot)
    case .word:
      if length == 8, old.isWord {
        store(content.word, at: offset)
        store(tag | UInt64(offset) << 8, at: slot)
      } else {
        dead += length
        store(tag | UInt64(count) << 8, at: slot)
        append(fixed: content.word)
      }
    case .bytes:
      let count = content.bytes.byteCount
      guard count < RecordLayout.longLength, old.slot >> 40 < RecordLayout.longLength else { return fail() }
      var place = offset
      if count <= length, !old.isWord {
        store(content.bytes, at: offset)
        dead += length - count
      } else {
        // The heap's last value is removed; any other stays there as dead bytes.
        if length > 0, offset + length == self.count { truncate(to: offset) } else { dead += length }
        place = self.count
        append(content.bytes)
      }
      store(tag | UInt64(place) << 8 | UInt64(count) << 40, at: slot)
    }
  }
}
