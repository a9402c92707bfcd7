import NIOCore

/// Reads the frames that the other end of a WebSocket sends, by the rules of RFC 6455; without I/O.
///
/// It passes content on as it arrives and holds none of it, so that neither the length of a frame nor the
/// number of fragments costs memory. It keeps the head of one frame, and the content of one control frame.
struct WebSocketReceiver {
  /// What control frames say, in their order.
  enum Event: Equatable {
    case ping([UInt8])
    case close(WebSocketCloseCode?, reason: String)
  }

  /// The most bytes of content in a frame that carries data.
  static let frameLimit = 64 << 10
  /// The most bytes of content in a control frame (RFC 6455, section 5.5).
  static let controlLimit = 125

  /// The part of a frame that is to arrive next.
  private enum Part {
    case first
    case length
    case longLength(missing: Int)
    case mask(missing: Int)
    case content
  }

  /// Whether this end is the client, which must receive no masked frame; a server receives no other.
  private let isClient: Bool
  private var part = Part.first
  private var opcode = WebSocketOpcode.binary
  private var isFinal = true
  private var length: UInt64 = 0
  /// The least length that may be written in as many bytes as the frame's is.
  private var shortest: UInt64 = 0
  private var mask: UInt32 = 0
  /// How much of the frame's content has arrived.
  private var position = 0
  /// Whether a message has begun that the last frame has not ended.
  private var isInMessage = false
  private var control: [UInt8] = []
  /// Whether the other end has sent its close frame, after which nothing counts.
  private(set) var isClosed = false
  /// What the other end may send.
  var allowance: WebSocketAllowance

  init(isClient: Bool, allowance: WebSocketAllowance) {
    self.isClient = isClient
    self.allowance = allowance
  }

  /// Reads all of `bytes`.
  ///
  /// - Parameters:
  ///   - bytes: What has arrived, cut anywhere.
  ///   - content: Receives the content of messages, also what precedes a violation.
  ///   - events: Receives what control frames say.
  ///   - now: The current time.
  /// - Throws: The first violation; the receiver must not be used after that.
  mutating func receive(
    _ bytes: inout ByteBuffer, into content: inout ByteBuffer, _ events: inout [Event], at now: NIODeadline
  ) throws(WebSocketViolation) {
    guard !isClosed else { return }
    try allowance.charge(bytes: bytes.readableBytes)
    while !isClosed, try advance(&bytes, &content, &events, now) {}
  }

  /// Reads one part of a frame, or as much of it as there is.
  ///
  /// - Returns: Whether there may be more to read.
  private mutating func advance(
    _ bytes: inout ByteBuffer, _ content: inout ByteBuffer, _ events: inout [Event], _ now: NIODeadline
  ) throws(WebSocketViolation) -> Bool {
    if case .content = part { return try readContent(&bytes, &content, &events) }
    guard let byte = bytes.readInteger(as: UInt8.self) else { return false }
    switch part {
    case .first: try begin(byte)
    case .length: try readLength(byte, now)
    case .longLength(let missing):
      length = length << 8 | UInt64(byte)
      part = .longLength(missing: missing - 1)
      if missing == 1 { try checkLongLength(now) }
    case .mask(let missing):
      mask = mask << 8 | UInt32(byte)
      part = missing == 1 ? .content : .mask(missing: missing - 1)
    case .content: break
    }
    return true
  }

  // MARK: - The head

  private mutating func begin(_ byte: UInt8) throws(WebSocketViolation) {
    guard byte & 0x70 == 0 else { throw broken("a frame with reserved bits, and no extension was agreed on") }
    guard let opcode = WebSocketOpcode(rawValue: byte & 0x0F) else {
      throw broken("a frame with the unknown opcode \(byte & 0x0F)")
    }
    self.opcode = opcode
    isFinal = byte & 0x80 != 0
    switch opcode {
    case .continuation:
      guard isInMessage else { throw broken("a continuation of no message") }
    case .binary:
      guard !isInMessage else { throw broken("a new message before the end of a fragmented one") }
    case .text:
      guard !isInMessage else { throw broken("a new message before the end of a fragmented one") }
      throw WebSocketViolation(.unsupportedData, "a message that is not binary")
    case .close, .ping, .pong:
      guard isFinal else { throw broken("a control frame in fragments") }
    }
    part = .length
  }

  private mutating func readLength(_ byte: UInt8, _ now: NIODeadline) throws(WebSocketViolation) {
    let isMasked = byte & 0x80 != 0
    guard isMasked != isClient else {
      throw broken(isMasked ? "a masked frame, as clients do" : "a frame without a mask")
    }
    switch byte & 0x7F {
    case let long where long > Self.controlLimit:
      guard !opcode.isControl else { throw broken("a control frame of more than 125 bytes") }
      length = 0
      part = .longLength(missing: long == 126 ? 2 : 8)
      shortest = long == 126 ? 126 : 65_536
    case let short:
      length = UInt64(short)
      try endHead(now)
    }
  }

  private mutating func checkLongLength(_ now: NIODeadline) throws(WebSocketViolation) {
    guard length <= UInt64(Int64.max) else { throw broken("a length with the highest bit set") }
    guard length >= shortest else { throw broken("a length in more bytes than it needs") }
    guard length <= UInt64(Self.frameLimit) else {
      throw WebSocketViolation(.tooLarge, "a frame of \(length) bytes, and \(Self.frameLimit) are the most")
    }
    try endHead(now)
  }

  private mutating func endHead(_ now: NIODeadline) throws(WebSocketViolation) {
    // The end is never too much.
    if opcode != .close { try allowance.charge(frameWith: opcode.isControl ? 0 : Int(length), at: now) }
    mask = 0
    position = 0
    part = isClient ? .content : .mask(missing: 4)
  }

  // MARK: - The content

  private mutating func readContent(
    _ bytes: inout ByteBuffer, _ content: inout ByteBuffer, _ events: inout [Event]
  ) throws(WebSocketViolation) -> Bool {
    let count = min(Int(length) - position, bytes.readableBytes)
    if count > 0 {
      if opcode.isControl {
        var plain = ByteBuffer()
        WebSocketMask.move(count, from: &bytes, to: &plain, key: mask, at: position)
        control += plain.readableBytesView
      } else {
        WebSocketMask.move(count, from: &bytes, to: &content, key: mask, at: position)
      }
      position += count
    }
    guard position == Int(length) else { return false }
    part = .first
    try end(&events)
    return true
  }

  private mutating func end(_ events: inout [Event]) throws(WebSocketViolation) {
    defer { control = [] }
    switch opcode {
    case .continuation, .binary, .text: isInMessage = !isFinal
    case .ping: events.append(.ping(control))
    case .pong: break
    case .close:
      events.append(try closing())
      isClosed = true
    }
  }

  private func closing() throws(WebSocketViolation) -> Event {
    guard !control.isEmpty else { return .close(nil, reason: "") }
    guard control.count >= 2 else { throw broken("half of a close code") }
    let code = WebSocketCloseCode(rawValue: UInt16(control[0]) << 8 | UInt16(control[1]))
    guard code.mayBeSent else { throw broken("the close code \(code.rawValue), which must not be sent") }
    guard let reason = String(validating: control.dropFirst(2), as: UTF8.self) else {
      throw broken("a reason for its end that is not UTF-8")
    }
    return .close(code, reason: reason)
  }

  private func broken(_ what: String) -> WebSocketViolation { WebSocketViolation(.protocolError, what) }
}
