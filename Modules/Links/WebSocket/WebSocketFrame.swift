import NIOCore

/// A frame that this end of a WebSocket sends.
struct WebSocketFrame {
  let opcode: WebSocketOpcode
  /// The content, not masked.
  let content: ByteBuffer

  /// The most bytes of a head: two, a length of eight, and a mask.
  private static let headBytes = 14

  /// Makes a close frame.
  ///
  /// - Parameters:
  ///   - code: Why this end closes the connection.
  ///   - reason: The same in ASCII; cut where a control frame ends.
  /// - Returns: The frame.
  static func close(_ code: WebSocketCloseCode, _ reason: String = "") -> WebSocketFrame {
    var content = ByteBuffer()
    content.writeInteger(code.rawValue)
    content.writeBytes(reason.utf8.prefix(WebSocketReceiver.controlLimit - 2))
    return WebSocketFrame(opcode: .close, content: content)
  }

  /// The frame's bytes: its head, and its content.
  ///
  /// - Parameters:
  ///   - key: The mask of a client; `nil` for a server, which masks nothing.
  ///   - allocator: Makes the buffers.
  /// - Returns: One or two buffers.
  func bytes(mask key: UInt32?, _ allocator: ByteBufferAllocator) -> [ByteBuffer] {
    let count = content.readableBytes
    var head = allocator.buffer(capacity: Self.headBytes + (key == nil ? 0 : count))
    head.writeInteger(0x80 | opcode.rawValue)
    let masked: UInt8 = key == nil ? 0 : 0x80
    switch count {
    case ...125: head.writeInteger(masked | UInt8(count))
    case ...65_535: head.writeMultipleIntegers(masked | 126, UInt16(count))
    default: head.writeMultipleIntegers(masked | 127, UInt64(count))
    }
    guard let key else { return count == 0 ? [head] : [head, content] }
    head.writeInteger(key)
    var content = content
    if count > 0 { WebSocketMask.move(count, from: &content, to: &head, key: key, at: 0) }
    return [head]
  }
}
