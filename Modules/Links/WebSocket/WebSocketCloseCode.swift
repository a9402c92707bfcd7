/// Why one end closes a WebSocket (RFC 6455, section 7.4).
struct WebSocketCloseCode: RawRepresentable, Hashable, Sendable {
  let rawValue: UInt16

  /// The end of what is sent, in order.
  static let normal = WebSocketCloseCode(rawValue: 1_000)
  /// The other end goes away, or its process ends.
  static let goingAway = WebSocketCloseCode(rawValue: 1_001)
  /// The other end breaks a rule of RFC 6455.
  static let protocolError = WebSocketCloseCode(rawValue: 1_002)
  /// The other end sends a kind of message that is not accepted.
  static let unsupportedData = WebSocketCloseCode(rawValue: 1_003)
  /// The other end sends what is allowed, but too much of it.
  static let policyViolation = WebSocketCloseCode(rawValue: 1_008)
  /// The other end sends a frame that is too long.
  static let tooLarge = WebSocketCloseCode(rawValue: 1_009)

  /// Whether a close frame may contain the code.
  ///
  /// 1004 has no meaning yet; 1005, 1006 and 1015 are for programs, and are never sent.
  var mayBeSent: Bool {
    switch rawValue {
    case 1_000...1_003, 1_007...1_014, 3_000...4_999: true
    default: false
    }
  }

  /// Whether the end is in order.
  var isOrderly: Bool { self == .normal || self == .goingAway }
}

/// What the other end of a WebSocket does that it must not do.
struct WebSocketViolation: Error, Hashable {
  let code: WebSocketCloseCode
  /// What it has sent; follows "sent".
  let what: String

  init(_ code: WebSocketCloseCode, _ what: String) { (self.code, self.what) = (code, what) }
}
