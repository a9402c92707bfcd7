import NIOCore
import NIOPosix
import Platform

/// One process at the other end of a local socket.
///
/// It exchanges lines.
package struct LocalConnection: Sendable {
  private let channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>

  /// Takes over a channel; must run on its event loop.
  init(_ channel: any Channel, lineBytes: Int) throws {
    try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(LineDecoder(limit: lineBytes)))
    self.channel = try NIOAsyncChannel(wrappingChannelSynchronously: channel)
  }

  /// Calls `body` with the received lines, and closes the connection when `body` returns.
  package func serve(_ body: (LocalLines) async -> Void) async {
    // An error here only means that the other end has closed the connection already.
    try? await channel.executeThenClose { inbound, _ in await body(LocalLines(inbound: inbound)) }
  }

  /// Sends a line, and waits until the system has taken all of it.
  ///
  /// So a slow reader slows the sender down.
  ///
  /// - Parameter line: The line with its end.
  /// - Throws: When the connection is over.
  package func send(_ line: [UInt8]) async throws {
    try await channel.channel.writeAndFlush(ByteBuffer(bytes: line)).get()
  }

  /// Ends the connection; drops what waits to be sent.
  package func close() { channel.channel.close(promise: nil) }

  /// The user at the other end of a channel.
  static func user(of channel: any Channel) -> EventLoopFuture<PeerUser> {
    guard let socket = channel as? any SocketOptionProvider else {
      return channel.eventLoop.makeFailedFuture(LinkError(.system, "The socket does not tell whose it is"))
    }
    #if canImport(Darwin)
      let record: EventLoopFuture<xucred> = socket.unsafeGetSocketOption(
        level: NIOBSDSocket.OptionLevel(rawValue: SOL_LOCAL),
        name: NIOBSDSocket.Option(rawValue: LOCAL_PEERCRED))
      return record.map { PeerUser(id: $0.cr_uid) }
    #else
      let record: EventLoopFuture<PeerUser.Credentials> = socket.unsafeGetSocketOption(
        level: NIOBSDSocket.OptionLevel(rawValue: SOL_SOCKET),
        name: NIOBSDSocket.Option(rawValue: SO_PEERCRED))
      return record.map { PeerUser(id: $0.user) }
    #endif
  }
}

/// The lines that arrive over a local connection, without their ends.
package struct LocalLines {
  let inbound: NIOAsyncChannelInboundStream<ByteBuffer>

  /// Calls `body` with each line, until the other end has closed; reads no more lines than `body` takes.
  ///
  /// - Throws: `LineTooLong`; the system's error when the connection breaks; errors of `body`.
  package func forEach(_ body: ([UInt8]) async throws -> Void) async throws {
    for try await buffer in inbound { try await body(Array(buffer.readableBytesView)) }
  }
}

/// The error of a line that is too long.
package struct LineTooLong: Error {
  package let limit: Int
}

/// Splits received bytes into lines.
struct LineDecoder: ByteToMessageDecoder {
  typealias InboundOut = ByteBuffer

  private static let newline = UInt8(ascii: "\n")
  let limit: Int
  /// Bytes of the current line that were searched and contain no line end.
  private var scanned = 0

  init(limit: Int) { self.limit = limit }

  mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
    let view = buffer.readableBytesView
    guard let end = view.dropFirst(scanned).firstIndex(of: Self.newline) else {
      scanned = buffer.readableBytes
      guard scanned <= limit else { throw LineTooLong(limit: limit) }
      return .needMoreData
    }
    let count = end - view.startIndex
    scanned = 0
    guard count <= limit else { throw LineTooLong(limit: limit) }
    guard let line = buffer.readSlice(length: count) else { return .needMoreData }
    buffer.moveReaderIndex(forwardBy: 1)
    context.fireChannelRead(Self.wrapInboundOut(line))
    return .continue
  }

  mutating func decodeLast(
    context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool
  ) throws -> DecodingState {
    while try decode(context: context, buffer: &buffer) == .continue {}
    // A line without an end is dropped.
    buffer.moveReaderIndex(to: buffer.writerIndex)
    return .needMoreData
  }
}
