package import RawLMDB

/// Byte strings in one piece of memory that does not move.
package final class RawItems {
  package let items: [raw_bytes]
  private let memory: UnsafeMutableRawBufferPointer

  package init(_ strings: [[UInt8]]) {
    memory = .allocate(byteCount: max(1, strings.reduce(0) { $0 + $1.count }), alignment: 8)
    var offset = 0
    var items: [raw_bytes] = []
    items.reserveCapacity(strings.count)
    for string in strings {
      let room = UnsafeMutableRawBufferPointer(rebasing: memory[offset..<offset + string.count])
      room.copyBytes(from: string)
      items.append(
        raw_bytes(bytes: memory.baseAddress.map { UnsafeRawPointer($0 + offset) }, count: string.count))
      offset += string.count
    }
    self.items = items
  }

  deinit { memory.deallocate() }
}
