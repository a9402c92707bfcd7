#if Server
  import DunlinFeed
  import Facade
  import Hummingbird
  import NIOCore

  /// The pages of all streams of a listener: text in pieces, which streams with the same queries share.
  typealias StreamPages = FeedPages<[ByteBuffer]>

  /// Limits of what streams of changes hold in memory.
  enum StreamLimits {
    /// The text of all streams together, in bytes, of which shared text counts once.
    static let allBytes = 8 << 20
    /// An event that takes more bytes is sent without its values.
    static let eventBytes = 4 << 20
    /// The text that is written at once; about as much of a stream waits in the connection.
    static let pieceBytes = 16 << 10
  }

  /// Changes in the form of server-sent events.
  ///
  /// Source: WHATWG, "HTML Living Standard", section 9.2, Server-sent events.
  struct EventStream {
    /// How long a client waits before it reconnects, in milliseconds.
    private static let retry = 2_000

    let stream: FeedStream
    let channel: any Channel
    let record: RequestRecord
    /// Whether the key of the stream may still read.
    let isAllowed: @Sendable () -> Bool

    /// Writes events until the stream ends.
    ///
    /// A page is made when the client has taken the one before it. So a client that takes nothing holds one
    /// page at most, and its position.
    ///
    /// - Parameter writer: The body of the response.
    /// - Throws: What reading the store throws; an error when the connection has ended.
    @concurrent
    func write(to writer: inout any ResponseBodyWriter) async throws {
      try await limitPending(to: StreamLimits.pieceBytes)
      var text = PieceText()
      text.append("retry: \(Self.retry)\n".utf8)
      text.append(position: stream.reader.position)
      for piece in text.pieces { try await writer.write(piece) }
      while let page = try await stream.next() {
        // A key that is revoked or expired gets no further events.
        guard isAllowed() else { break }
        try await send(page, to: &writer)
      }
      // The connection may be used for further requests.
      try await limitPending(to: 64 << 10)
    }

    @concurrent
    private func send(_ page: FeedPage<[ByteBuffer]>, to writer: inout any ResponseBodyWriter) async throws {
      let id = page.beginSending { [channel, record] in
        record.note(failure: "streamMemory")
        channel.close(promise: nil)
      }
      defer { page.endSending(id) }
      for piece in page.content {
        try await writer.write(piece)
        // Until the event loop has the piece, the writer does not know that the connection is full.
        try await channel.eventLoop.submit {}.get()
        page.recordProgress()
      }
      // It waits until the client has taken nearly all, and writes nothing.
      try await writer.write(ByteBuffer())
    }

    /// Sets how much may wait in the connection, in bytes, until the writer waits.
    private func limitPending(to bytes: Int) async throws {
      try await channel.setOption(.writeBufferWaterMark, value: .init(low: bytes / 2, high: bytes)).get()
    }

    /// The text of a batch.
    ///
    /// - Parameters:
    ///   - batch: The events.
    ///   - json: Makes an event's JSON, with its values or without.
    /// - Returns: The text in pieces, and its size.
    static func text(
      of batch: FeedBatch, _ json: (FeedEvent, _ hasValues: Bool) -> [UInt8]
    ) -> (pieces: [ByteBuffer], byteCount: Int) {
      var text = PieceText()
      for item in batch.items {
        text.append("id: \(item.position.token)\ndata: ".utf8)
        let whole = json(item.event, true)
        text.append(whole.count <= StreamLimits.eventBytes ? whole : json(item.event, false))
        text.append("\n\n".utf8)
      }
      if batch.items.isEmpty { text.append(": heartbeat\n".utf8) }
      // An event without data only advances the position.
      if batch.items.last?.position != batch.position { text.append(position: batch.position) }
      return (text.pieces, text.byteCount)
    }
  }

  /// Text in pieces, each with its own memory, so that a piece which is not sent yet keeps no other.
  private struct PieceText {
    private(set) var pieces: [ByteBuffer] = []
    private(set) var byteCount = 0

    mutating func append(position: FeedPosition) { append("id: \(position.token)\n\n".utf8) }

    mutating func append(_ bytes: some Collection<UInt8>) {
      var rest = bytes[...]
      while !rest.isEmpty {
        let room = StreamLimits.pieceBytes - (pieces.last?.readableBytes ?? StreamLimits.pieceBytes)
        guard room > 0 else {
          pieces.append(ByteBuffer())
          continue
        }
        let part = rest.prefix(room)
        pieces[pieces.count - 1].writeBytes(part)
        byteCount += part.count
        rest = rest.dropFirst(room)
      }
    }
  }
#endif
