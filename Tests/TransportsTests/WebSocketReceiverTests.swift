import NIOCore
import TestKit
import Testing

@testable import Links

/// The rules of RFC 6455 for received frames, each with frames that break it.
@Suite struct WebSocketReceiverTests {
  /// A frame as a client or a server sends it.
  ///
  /// - Parameters:
  ///   - first: The first byte: whether the frame is final, reserved bits, and the opcode.
  ///   - content: The content.
  ///   - mask: The key of a client; `nil` for a server.
  ///   - lengthBytes: How the length is written: in 0, 2 or 8 bytes of its own.
  /// - Returns: The frame's bytes.
  private func frame(
    _ first: UInt8, _ content: [UInt8] = [], mask: [UInt8]? = [1, 2, 3, 4], lengthBytes: Int? = nil
  ) -> [UInt8] {
    let masked: UInt8 = mask == nil ? 0 : 0x80
    let bytes = lengthBytes ?? (content.count < 126 ? 0 : content.count < 65_536 ? 2 : 8)
    let short: UInt8 = bytes == 0 ? UInt8(content.count) : bytes == 2 ? 126 : 127
    let length = (0..<bytes).map { UInt8(truncatingIfNeeded: content.count >> (8 * (bytes - 1 - $0))) }
    let key = mask ?? [0, 0, 0, 0]
    let payload = content.enumerated().map { $1 ^ key[$0 % 4] }
    return [first, masked | short] + length + (mask ?? []) + payload
  }

  private struct Outcome: Equatable {
    var content: [UInt8] = []
    var events: [WebSocketReceiver.Event] = []
    var violation: WebSocketViolation?
  }

  /// Gives bytes to a receiver, so many at a time.
  private func receive(
    _ bytes: [UInt8], isClient: Bool = false, step: Int = .max, awaitsAdmission: Bool = false
  ) -> Outcome {
    var receiver = WebSocketReceiver(
      isClient: isClient, allowance: WebSocketAllowance(awaitsAdmission: awaitsAdmission))
    var outcome = Outcome()
    var content = ByteBuffer()
    var rest = bytes[...]
    do throws(WebSocketViolation) {
      while !rest.isEmpty {
        var piece = ByteBuffer(bytes: rest.prefix(step))
        rest = rest.dropFirst(step)
        try receiver.receive(
          &piece, into: &content, &outcome.events, at: .uptimeNanoseconds(1_000_000_000))
      }
    } catch {
      outcome.violation = error
    }
    outcome.content = Array(content.readableBytesView)
    return outcome
  }

  private let data = (0..<300).map { UInt8(truncatingIfNeeded: $0) }

  @Test(arguments: [1, 2, 3, 7, 64, Int.max])
  func `frames are read however the bytes are cut`(step: Int) {
    let frames = [
      frame(0x82, data), frame(0x02, [1]), frame(0x89, [9, 8]), frame(0x00, []), frame(0x8A, [5]),
      frame(0x80, [2, 3, 4, 5, 6]), frame(0x82, data + data), frame(0x82),
    ]
    let outcome = receive(frames.flatMap { $0 }, step: step)
    #expect(outcome.violation == nil)
    #expect(outcome.content == data + [1, 2, 3, 4, 5, 6] + data + data)
    #expect(outcome.events == [.ping([9, 8])])
  }

  @Test(arguments: [1, 5, Int.max])
  func `a client reads frames without a mask`(step: Int) {
    let bytes = frame(0x82, data, mask: nil) + frame(0x89, [7], mask: nil) + frame(0x88, mask: nil)
    let outcome = receive(bytes, isClient: true, step: step)
    #expect(outcome == Outcome(content: data, events: [.ping([7]), .close(nil, reason: "")]))
  }

  @Test func `a frame of the greatest length is read, and a longer one is 1009`() {
    let most = [UInt8](repeating: 7, count: WebSocketReceiver.frameLimit)
    #expect(receive(frame(0x82, most)) == Outcome(content: most))
    let outcome = receive(frame(0x82, most + [7]))
    #expect(outcome.violation?.code == .tooLarge)
    #expect(outcome.content.isEmpty)
  }

  @Test(
    arguments: [
      ("no mask at a server", false, [0x82, 0x01]), ("a mask at a client", true, [0x82, 0x81]),
      ("the first reserved bit", false, [0xC2]), ("the second reserved bit", false, [0xA2]),
      ("the third reserved bit", false, [0x92]), ("a reserved bit of a ping", true, [0xC9]),
      ("opcode 3", false, [0x83]), ("opcode 7", false, [0x87]), ("opcode 11", false, [0x8B]),
      ("opcode 15", true, [0x8F]), ("a continuation of nothing", false, [0x80]),
      ("a fragment of nothing", false, [0x00]),
      ("a message within a message", false, [0x02, 0x81, 0, 0, 0, 0, 7, 0x82]),
      ("a text within a message", false, [0x02, 0x81, 0, 0, 0, 0, 7, 0x81]),
      ("a continuation behind the end", false, [0x82, 0x81, 0, 0, 0, 0, 7, 0x80]),
      ("a ping in fragments", false, [0x09]), ("a pong in fragments", true, [0x0A]),
      ("a close in fragments", false, [0x08]), ("a ping of 126 bytes", false, [0x89, 0xFE]),
      ("a close of 65,536 bytes", true, [0x88, 0x7F]),
      ("a length of 125 in two bytes", false, [0x82, 0xFE, 0, 125]),
      ("a length of 65,535 in eight bytes", false, [0x82, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]),
      ("a negative length", false, [0x82, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0]),
      ("half of a close code", true, [0x88, 0x01, 3]),
    ] as [(String, Bool, [UInt8])])
  func `what breaks the rules is 1002, as soon as it can be seen`(
    what: String, isClient: Bool, bytes: [UInt8]
  ) {
    #expect(receive(bytes, isClient: isClient).violation?.code == .protocolError, "\(what)")
    #expect(receive(bytes, isClient: isClient, step: 1).violation?.code == .protocolError, "\(what)")
    #expect(receive(Array(bytes.dropLast()), isClient: isClient).violation == nil, "\(what), but one byte")
  }

  @Test(arguments: [0x81, 0x01] as [UInt8])
  func `a text is 1003`(first: UInt8) {
    #expect(receive([first]).violation?.code == .unsupportedData)
  }

  @Test(
    arguments: [
      0, 999, 1_004, 1_005, 1_006, 1_015, 1_016, 1_100, 2_000, 2_999, 5_000, 65_535,
    ] as [UInt16])
  func `a close code that must not be sent is 1002`(code: UInt16) {
    let content = [UInt8(code >> 8), UInt8(code & 255)]
    #expect(receive(frame(0x88, content)).violation?.code == .protocolError)
  }

  @Test(
    arguments: [1_000, 1_001, 1_002, 1_003, 1_007, 1_008, 1_011, 1_014, 3_000, 3_999, 4_000, 4_999]
      as [UInt16])
  func `a close code that may be sent is read with its reason`(code: UInt16) {
    let content = [UInt8(code >> 8), UInt8(code & 255)] + Array("für immer".utf8)
    let close = WebSocketReceiver.Event.close(WebSocketCloseCode(rawValue: code), reason: "für immer")
    // What follows the end does not count.
    #expect(receive(frame(0x88, content) + [0xFF, 0xFF]) == Outcome(events: [close]))
    #expect(receive(frame(0x88, content) + [0xFF, 0xFF], step: 1) == Outcome(events: [close]))
  }

  @Test(
    arguments: [[0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80]] as [[UInt8]])
  func `a reason that is not UTF-8 is 1002`(bytes: [UInt8]) {
    #expect(receive(frame(0x88, [3, 0xE8] + bytes)).violation?.code == .protocolError)
  }

  @Test func `what precedes a violation counts`() {
    let outcome = receive(frame(0x82, [1, 2, 3]) + frame(0x89, [4]) + [0xF2])
    #expect(outcome.content == [1, 2, 3])
    #expect(outcome.events == [.ping([4])])
    #expect(outcome.violation?.code == .protocolError)
  }

  @Test func `what is sent is read at the other end`() {
    for (isClient, key) in [(true, nil), (false, 0xA1B2_C3D4)] as [(Bool, UInt32?)] {
      for count in [0, 1, 3, 125, 126, 300, 65_535, 65_536] {
        let content = (0..<count).map { UInt8(truncatingIfNeeded: $0 / 3) }
        let sent = WebSocketFrame(opcode: .binary, content: ByteBuffer(bytes: content))
          .bytes(mask: key, ByteBufferAllocator())
        let bytes = sent.flatMap { Array($0.readableBytesView) }
        expectEqual(receive(bytes, isClient: isClient), Outcome(content: content), "\(count) bytes")
      }
    }
  }

  @Test func `the reason of a close frame is cut where a control frame ends`() {
    let long = String(repeating: "x", count: 200)
    let bytes = WebSocketFrame.close(.policyViolation, long).bytes(mask: nil, ByteBufferAllocator())
      .flatMap { Array($0.readableBytesView) }
    let close = WebSocketReceiver.Event.close(.policyViolation, reason: String(long.prefix(123)))
    #expect(receive(bytes, isClient: true) == Outcome(events: [close]))
  }

  // MARK: - How much may be sent

  @Test(
    arguments: [
      ("pongs", [0x8A, 0x80, 0, 0, 0, 0]), ("pings", [0x89, 0x81, 0, 0, 0, 0, 7]),
      ("empty messages", [0x82, 0x80, 0, 0, 0, 0]),
    ] as [(String, [UInt8])])
  func `frames without content are 1008 beyond their number`(what: String, frame: [UInt8]) {
    func many(_ count: Int) -> [UInt8] { Array(repeatElement(frame, count: count).joined()) }
    #expect(receive(many(WebSocketAllowance.emptyFrames)).violation == nil)
    #expect(receive(many(WebSocketAllowance.emptyFrames + 1)).violation?.code == .policyViolation)
  }

  @Test func `empty fragments are 1008 beyond their number`() {
    let more = Array(repeatElement(frame(0x00), count: WebSocketAllowance.emptyFrames - 1).joined())
    #expect(receive(frame(0x02) + more).violation == nil)
    #expect(receive(frame(0x02) + more + frame(0x00)).violation?.code == .policyViolation)
  }

  @Test func `an end is never too much`() {
    let pongs = Array(repeatElement(frame(0x8A), count: WebSocketAllowance.emptyFrames).joined())
    #expect(receive(pongs + frame(0x88)) == Outcome(events: [.close(nil, reason: "")]))
  }

  @Test func `before its hello a peer has a number of frames and bytes`() {
    let one = Array(repeatElement(frame(0x82, [7]), count: WebSocketAllowance.openingFrames).joined())
    #expect(receive(one, awaitsAdmission: true).violation == nil)
    #expect(receive(one + frame(0x82, [7]), awaitsAdmission: true).violation?.code == .policyViolation)
    #expect(receive(one + frame(0x82, [7])).violation == nil)
    let large = frame(0x82, [UInt8](repeating: 7, count: 60_000))
    #expect(receive(large + large, step: 4_096, awaitsAdmission: true).violation == nil)
    let three = receive(large + large + large, step: 4_096, awaitsAdmission: true)
    #expect(three.violation?.code == .policyViolation)
    #expect(three.content.count < WebSocketAllowance.openingBytes)
  }

  @Test func `an admitted peer is no longer bound by the opening`() throws {
    var allowance = WebSocketAllowance(awaitsAdmission: true)
    try allowance.charge(bytes: WebSocketAllowance.openingBytes)
    #expect(throws: WebSocketViolation.self) { try allowance.charge(bytes: 1) }
    allowance.admit()
    try allowance.charge(bytes: 1 << 30)
    for _ in 0...WebSocketAllowance.openingFrames { try allowance.charge(frameWith: 1, at: .now()) }
  }

  @Test func `frames without content have a rate`() throws {
    var allowance = WebSocketAllowance(awaitsAdmission: false)
    let start = NIODeadline.uptimeNanoseconds(1 << 40)
    for _ in 0..<WebSocketAllowance.emptyFrames { try allowance.charge(frameWith: 0, at: start) }
    #expect(throws: WebSocketViolation.self) { try allowance.charge(frameWith: 0, at: start) }
    // The one that was too much is counted as well.
    let later = start + .milliseconds(130)
    try allowance.charge(frameWith: 0, at: later)
    #expect(throws: WebSocketViolation.self) { try allowance.charge(frameWith: 0, at: later) }
    let slow = (1...1_000).map { later + .seconds(10) + .milliseconds(70) * $0 }
    for time in slow { try allowance.charge(frameWith: 0, at: time) }
  }

  @Test func `frames with content delay what follows beyond their rate`() throws {
    var allowance = WebSocketAllowance(awaitsAdmission: false)
    let start = NIODeadline.uptimeNanoseconds(1 << 40)
    for _ in 0..<WebSocketAllowance.contentFrames { try allowance.charge(frameWith: 1, at: start) }
    #expect(allowance.pause(at: start) == nil)
    for _ in 0..<WebSocketAllowance.contentFramesPerSecond { try allowance.charge(frameWith: 1, at: start) }
    let pause = try #require(allowance.pause(at: start))
    #expect(pause > .milliseconds(990) && pause < .milliseconds(1_010))
    #expect(allowance.pause(at: start + .seconds(2)) == nil)
  }
}
