/// The meaning of a WebSocket frame (RFC 6455, section 5.2).
enum WebSocketOpcode: UInt8 {
  case continuation = 0
  case text = 1
  case binary = 2
  case close = 8
  case ping = 9
  case pong = 10

  /// Whether the frame controls the connection, and belongs to no message.
  var isControl: Bool { rawValue >= Self.close.rawValue }
}
