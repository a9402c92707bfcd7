import CRDTCore

/// Carries the messages by which the layer above exchanges revocations with the other peer.
///
/// The session does not read them: what is revoked, and who may say so, is known where certificates are.
final class RevocationExchange {
  private let context: SessionContext
  /// Messages that wait for the session to open.
  private var waiting: [[UInt8]] = []
  private var isOpen = false
  /// Received messages that the driver has not taken.
  private var received: [[UInt8]] = []

  private var receivedBytes = 0

  /// How much may wait for the driver, which takes it after each call.
  ///
  /// Further ones are dropped. An honest peer does not send so much: it waits for an answer to each request.
  private static let receivedLimit = (messages: 64, bytes: 512 << 10)

  init(_ context: SessionContext) { self.context = context }

  /// Sends what waited for the session to open.
  func open() {
    isOpen = true
    for message in waiting { send(message) }
    waiting = []
  }

  func send(_ message: [UInt8]) {
    guard isOpen else { return waiting.append(message) }
    context.send(.revocations) { $0.write(message) }
  }

  /// Processes a frame; its payload is the message.
  func receive(_ reader: inout ByteReader) throws(FrameFailure) {
    let message = try reader.whole { (reader) throws(CodecError) in
      try reader.readBytes(reader.remaining).copied
    }
    // A driver without certificates takes none.
    guard received.count < Self.receivedLimit.messages,
      receivedBytes + message.count <= Self.receivedLimit.bytes
    else { return }
    received.append(message)
    receivedBytes += message.count
  }

  func removeReceived() -> [[UInt8]] {
    defer { (received, receivedBytes) = ([], 0) }
    return received
  }
}
