import CRDTCore

extension Session {
  /// Parses received bytes as far as time and memory allow, and queues the rest.
  func receive(_ bytes: RawSpan) throws(SyncError) {
    guard !isBehind else { return backlog.append(bytes) }
    let consumed = try receiveNow(bytes)
    if consumed < bytes.byteCount { backlog.append(bytes.extracting(consumed...)) }
  }

  /// Continues parsing the backlog.
  func receiveBacklog() throws(SyncError) {
    try parseDraft()
    if isBehind, !isFull { try backlog.consume { (bytes) throws(SyncError) in try receiveNow(bytes) } }
  }

  /// Whether the driver must not read from the link: input is unparsed, or too much data waits to be applied.
  ///
  /// Bytes that the driver hands over while this is `true` stay in memory. The value changes only during
  /// calls of the session, so check it after each call.
  public var isHolding: Bool { isBehind || isFull }

  /// Whether complete input is unparsed because there was no time for it.
  var isBehind: Bool { !backlog.isEmpty || input.isWhole || pusher.peer.isDrafting }

  /// Whether too much received data waits to be applied, or the peer is not admitted yet.
  var isFull: Bool {
    switch state {
    case .open: puller.pull.queue.isFull
    case .met: true
    case .idle, .awaitingHello, .doubtingSite, .closed: false
    }
  }

  /// Whether there is memory for what a frame holds.
  private func mayReceive(_ type: UInt8, _ payload: RawSpan) -> Bool {
    guard case .open = state else { return !isFull }
    return puller.pull.queue.mayReceive(InputCost.memoryBytes(type, payload))
  }

  /// Splits the stream into frames and processes each in place; only frames that arrive in pieces are copied.
  ///
  /// - Returns: How many bytes it consumed.
  private func receiveNow(_ bytes: RawSpan) throws(SyncError) -> Int {
    guard context.hasTime, !isFull, !pusher.peer.isDrafting else { return 0 }
    var position = 0
    if !input.isEmpty {
      let isWhole: Bool
      do throws(SyncError) {
        isWhole = try input.complete(with: bytes, from: &position)
      } catch {
        throw error.moved(by: inputOffset)
      }
      guard isWhole else { return bytes.byteCount }
      let frame = input.bytes
      guard try !receiveFrames(in: frame.span.bytes, from: 0).isPaused else { return position }
      input.removeAll()
    }
    let (end, isPaused) = try receiveFrames(in: bytes, from: position)
    guard !isPaused, end < bytes.byteCount else { return end }
    input.append(bytes.extracting(end..<bytes.byteCount))
    return bytes.byteCount
  }

  /// Processes complete frames until none is left or the step has to pause.
  ///
  /// - Returns: Where the next frame begins, and whether that frame is complete but has to wait.
  private func receiveFrames(
    in bytes: RawSpan, from start: Int
  ) throws(SyncError) -> (position: Int, isPaused: Bool) {
    // The offset of `bytes` in the peer's stream.
    let base = inputOffset - start
    var position = start
    while true {
      try checkBegin(of: bytes, at: position, base: base)
      let frame: FrameCodec.Bounds?
      do throws(SyncError) {
        frame = try FrameCodec.next(in: bytes, at: position, number: context.nextReceived ?? 0)
      } catch {
        throw error.moved(by: base)
      }
      guard let frame else { return (position, false) }
      let payload = bytes.extracting(frame.payload)
      let cost = InputCost.frame(frame.type, payload)
      guard context.hasTime(for: cost), mayReceive(frame.type, payload), !pusher.peer.isDrafting else {
        return (position, true)
      }
      context.spend(cost)
      context.statistics.framesReceived += 1
      context.didReceiveFrame()
      do throws(FrameFailure) {
        try receive(frame.type, payload, frameBytes: frame.end - position)
      } catch {
        switch error {
        case .codec(let error):
          throw SyncError(error, in: "a frame of type \(frame.type)", base: base + frame.payload.lowerBound)
        case .session(let error) where error.offset == 0 && !isEndedByPeer:
          throw SyncError(error.code, error.message, offset: base + position)
        case .session(let error): throw error
        }
      }
      position = frame.end
      inputOffset = base + position
      draftOffset = base + frame.payload.lowerBound
      try parseDraft()
    }
  }

  /// Parses the queries of a received interest while there is time, and serves the interest once it is whole.
  private func parseDraft() throws(SyncError) {
    while let byteCount = pusher.peer.subscribed.nextQueryBytes {
      let cost = InputCost.query(byteCount)
      guard context.hasTime(for: cost) else { return }
      context.spend(cost)
      do throws(CodecError) {
        context.spend(InputCost.query(steps: try pusher.peer.subscribed.parseNextQuery()))
      } catch {
        throw SyncError(error, in: "a frame of type \(FrameType.interest.rawValue)", base: draftOffset)
      }
    }
    // Data that was sent under the previous interest, and is unwanted now, did not inform the peer of
    // anything.
    let isUncertain = pusher.peer.generation != nil && !pusher.isDrained
    let (isServed, resumed) = pusher.serveDraft()
    guard isServed else { return }
    if let resumed { try resume(resumed) } else if isUncertain { puller.renew() }
  }

  /// Rejects a foreign protocol by its first byte, without waiting for more.
  private func checkBegin(of bytes: RawSpan, at position: Int, base: Int) throws(SyncError) {
    guard position < bytes.byteCount else { return }
    let isFirst = context.nextReceived == nil
    guard FrameCodec.beginsStream(bytes, at: position) == isFirst else {
      let message =
        isFirst ? Self.stranger(bytes, at: position) : "a frame's length is zero"
      throw SyncError(.malformed, message, offset: base + position)
    }
  }

  /// Returns why a peer is rejected whose first byte does not begin a hello.
  ///
  /// Every TLS record begins with a byte from 20 to 23.
  private static func stranger(_ bytes: RawSpan, at position: Int) -> String {
    var reader = ByteReader(bytes, offset: position)
    var beginning: [UInt8] = []
    while beginning.count < 4, let byte = try? reader.readByte() { beginning.append(byte) }
    if let first = beginning.first, 20...23 ~= first {
      return "The peer speaks TLS, and this one does not: they have different kinds of identity"
    }
    return switch beginning {
    case Array("HTTP".utf8):
      "The peer speaks HTTP; a web server or proxy is connected to with ws:// or wss://"
    case Array("GET ".utf8):
      "The peer asks for a WebSocket, and this port has none; connect to it without ws://"
    default: "The peer does not speak this protocol"
    }
  }

  private func receive(_ rawType: UInt8, _ payload: RawSpan, frameBytes: Int) throws(FrameFailure) {
    let type = FrameType(rawValue: rawType)
    var reader = ByteReader(payload)
    switch (state, type) {
    case (.idle, _), (.met, _), (.closed, _): return
    case (.awaitingHello, .hello?):
      let hello = try reader.field { (reader) throws(CodecError) in try Hello(from: &reader) }
      try run { () throws(SyncError) in try meet(hello) }
    case (.awaitingHello, .bye?), (.doubtingSite, .bye?), (.open, .bye?):
      let code = try reader.field { (reader) throws(CodecError) in try reader.readString(limit: 64) }
      let message = try reader.field { (reader) throws(CodecError) in try reader.readString(limit: 4_096) }
      if case .awaitingHello = state, !reader.isAtEnd {
        refusedByPeer = try reader.field { (reader) throws(CodecError) in try reader.readSite() }
      }
      // A peer that is refused before the other's hello learns the reason from `bye` alone.
      let reason = SyncError.Code(rawValue: code)
      if case .awaitingHello = state, [.appMismatch, .versionMismatch, .full, .denied].contains(reason) {
        throw .session(SyncError(reason, message))
      }
      isEndedByPeer = true
      // One of the two ends is configured wrong, which may be this one. So both have this code.
      if reason == .kindMismatch {
        throw .session(SyncError(reason, "The peer ended the session: \(message)"))
      }
      let text = "The peer ended the session: \(message) (\(code))"
      throw .session(SyncError(reason == .keyClash ? .cloned : .peerClosed, text))
    case (.awaitingHello, _): throw .session(SyncError(.outOfOrder, "The first frame is not hello"))
    case (.doubtingSite, .run?):
      let incarnation = try reader.whole { (reader) throws(CodecError) in
        try reader.readFixed(as: UInt64.self)
      }
      try run { () throws(SyncError) in try settleSite(incarnation) }
    case (.doubtingSite, _): return
    case (.open, .hello?): throw .session(SyncError(.outOfOrder, "A second hello"))
    case (.open, nil): return
    case (.open, let type?): try receiveOpen(type, &reader, frameBytes: frameBytes)
    }
  }

  private func receiveOpen(
    _ type: FrameType, _ reader: inout ByteReader, frameBytes: Int
  ) throws(FrameFailure) {
    context.roundTrip.didReceive(type, now: context.now)
    if !type.mayPrecedeInterest { pusher.peer.subscribed.noteTalk() }
    switch type {
    case .hello, .bye: return
    case .compare, .asked, .want, .have, .interest, .acknowledge, .prune, .resume, .renewed:
      try receiveForPusher(type, &reader)
    case .answer, .offer, .withdraw, .settled, .fragment, .chunk, .renew, .resumed, .mark, .announce,
      .forecast:
      try receiveForPuller(type, &reader, frameBytes: frameBytes)
    case .filterWanted, .filter: try receiveFilterFrame(type, &reader)
    case .staged, .reuse: try receiveForTransfer(type, &reader, frameBytes: frameBytes)
    case .ask, .rows, .answered, .stopAsk: try statements.receive(type, &reader)
    case .presenceWanted, .presence: try presence.receive(type, &reader)
    case .revocations: try revocations.receive(&reader)
    case .ping:
      let nonce = try reader.field { (reader) throws(CodecError) in try reader.readFixed(as: UInt64.self) }
      if health.mayAnswerPing(bytesReceived: context.statistics.bytesReceived, now: context.now) {
        context.send(.pong) { $0.writeFixed(nonce) }
      }
    case .run: return
    case .unreadable: context.noteUnreadablePeer()
    case .withheld:
      let count = try reader.whole { (reader) throws(CodecError) in try reader.readVarint() }
      context.noteWithheld(byPeer: Int(clamping: count))
      puller.reportCaughtUp()
    case .pong:
      let nonce = try reader.field { (reader) throws(CodecError) in try reader.readFixed(as: UInt64.self) }
      pusher.feed.pace.answered(nonce)
    case .seen:
      let frame = try reader.whole { (reader) throws(CodecError) in try SeenFrame(from: &reader) }
      if let wallTime = frame.wallTime { context.report(.wallClock(milliseconds: wallTime)) }
      try run { () throws(SyncError) in try compareOwn(with: frame) }
    }
  }

  /// Processes frames that the peer sends as a receiver.
  private func receiveForPusher(_ type: FrameType, _ reader: inout ByteReader) throws(FrameFailure) {
    switch type {
    case .interest:
      let frame = try reader.whole { (reader) throws(CodecError) in try InterestFrame(from: &reader) }
      try run { () throws(SyncError) in try pusher.peer.subscribed.receive(frame) }
    case .compare:
      let (reconciliation, questions) = try reader.whole { (reader) throws(CodecError) in
        let reconciliation = try reader.readVarint()
        var questions: [RangeQuestion] = []
        for _ in 0..<(try reader.readCount(minimumBytes: 6)) {
          questions.append(try RangeQuestion(from: &reader))
        }
        return (reconciliation, questions)
      }
      try run { () throws(SyncError) in try pusher.receive(questions, reconciliation: reconciliation) }
    case .want:
      let list = try reader.whole { (reader) throws(CodecError) in try WantList(from: &reader) }
      try run { () throws(SyncError) in try pusher.receive(list) }
    case .have:
      let (reconciliation, seen, haves) = try reader.whole { (reader) throws(CodecError) in
        try DocumentHave.decode(from: &reader)
      }
      try run { () throws(SyncError) in try pusher.receive(haves, reconciliation: reconciliation, seen: seen)
      }
    case .asked:
      let reconciliation = try reader.whole { (reader) throws(CodecError) in try reader.readVarint() }
      try run { () throws(SyncError) in try pusher.asked(reconciliation: reconciliation) }
    case .acknowledge:
      let totals = try reader.whole { (reader) throws(CodecError) in try Acknowledgement(from: &reader) }
      try run { () throws(SyncError) in try pusher.receive(totals) }
    case .prune:
      let prune = try reader.whole { (reader) throws(CodecError) in try Prune(from: &reader) }
      try run { () throws(SyncError) in try pusher.feed.announcing.receive(prune) }
    case .resume:
      let frame = try reader.whole { (reader) throws(CodecError) in try ResumeFrame(from: &reader) }
      try run { () throws(SyncError) in try resume(frame) }
    case .renewed: try run { () throws(SyncError) in try pusher.renewal.hear() }
    case .hello, .bye, .ping, .pong, .seen, .run, .answer, .offer, .settled, .fragment, .chunk, .renew,
      .filterWanted, .filter, .resumed, .mark, .announce, .staged, .reuse, .ask, .rows, .answered, .stopAsk,
      .unreadable, .withheld, .presenceWanted, .presence, .forecast, .revocations, .withdraw:
      return
    }
  }

  /// Resumes from the peer's checkpoint, under an interest it has just sent or had in an earlier session.
  private func resume(_ frame: ResumeFrame) throws(SyncError) {
    guard let peer = context.peer else { return }
    if pusher.peer.generation != frame.generation || pusher.peer.interest.hash != frame.interest {
      guard let known = context.shared.interests.queries(frame.interest, of: peer.site) else {
        pusher.peer.subscribed.awaitInterest()
        let answer = ResumedFrame(generation: frame.generation, verdict: .unknownInterest)
        return context.send(.resumed) { answer.encode(to: &$0) }
      }
      // The pusher resumes once the interest has been parsed and served.
      return pusher.peer.subscribed.receive(known, for: frame)
    }
    let met = frame.lag.flatMap { lag in
      highestSent.map { ResumeFrame.met(lag, behind: $0) }
    }
    try pusher.resume(frame, unaskedAfter: met)
  }

  /// Processes frames that the peer sends as a sender.
  private func receiveForPuller(
    _ type: FrameType, _ reader: inout ByteReader, frameBytes: Int
  ) throws(FrameFailure) {
    puller.countAnswer()
    switch type {
    case .answer:
      let (reconciliation, answers) = try reader.whole { (reader) throws(CodecError) in
        let reconciliation = try reader.readVarint()
        var answers: [RangeAnswer] = []
        for _ in 0..<(try reader.readCount(minimumBytes: 2)) {
          answers.append(try RangeAnswer(from: &reader))
        }
        return (reconciliation, answers)
      }
      try run { () throws(SyncError) in try puller.receive(answers, reconciliation: reconciliation) }
    case .offer:
      let offers = try reader.whole { (reader) throws(CodecError) in try DocumentOffer.decode(from: &reader)
      }
      puller.pull.queue.receive(.offers(offers))
    case .withdraw:
      let withdrawals = try reader.whole { (reader) throws(CodecError) in
        try Withdrawal.decode(from: &reader)
      }
      if context.configuration.obeysWithdrawals { puller.pull.queue.receive(.withdrawals(withdrawals)) }
    case .settled:
      let reconciliation = try reader.whole { (reader) throws(CodecError) in try reader.readVarint() }
      puller.pull.queue.receive(.settled(reconciliation: reconciliation))
    case .fragment:
      let head = try reader.field { (reader) throws(CodecError) in try FragmentHead(from: &reader) }
      let content = reader.bytes.extracting(reader.offset..<reader.bytes.byteCount)
      try run { () throws(SyncError) in try puller.receive(head, content, frameBytes: frameBytes) }
    case .chunk:
      let head = try reader.field { (reader) throws(CodecError) in try ChunkHead(from: &reader) }
      let content = reader.bytes.extracting(reader.offset..<reader.bytes.byteCount)
      try run { () throws(SyncError) in try puller.receive(head, content, frameBytes: frameBytes) }
    case .renew:
      puller.pull.queue.receive(.renew)
    case .resumed:
      let frame = try reader.whole { (reader) throws(CodecError) in try ResumedFrame(from: &reader) }
      try run { () throws(SyncError) in try puller.receive(frame) }
    case .announce:
      let announcement = try reader.whole { (reader) throws(CodecError) in
        try Announcement(from: &reader)
      }
      puller.pull.queue.receive(.announcement(announcement))
    case .mark:
      let frame = try reader.whole { (reader) throws(CodecError) in try MarkFrame(from: &reader) }
      puller.pull.queue.receive(.mark(frame, own: puller.following.own))
    case .forecast:
      puller.receive(try reader.whole { (reader) throws(CodecError) in try ForecastFrame(from: &reader) })
    case .hello, .bye, .ping, .pong, .seen, .run, .interest, .compare, .want, .have, .asked, .filter,
      .filterWanted, .acknowledge, .resume, .prune, .renewed, .staged, .reuse, .ask, .rows, .answered,
      .stopAsk, .unreadable, .withheld, .presenceWanted, .presence, .revocations:
      return
    }
  }

  /// Processes the frames that exchange Bloom filters of held documents, for either role.
  private func receiveFilterFrame(_ type: FrameType, _ reader: inout ByteReader) throws(FrameFailure) {
    guard type == .filterWanted else {
      let frame = try reader.whole { (reader) throws(CodecError) in try FilterFrame(from: &reader) }
      return try run { () throws(SyncError) in
        switch frame.role {
        case .haves:
          puller.countAnswer()
          try puller.noticeExchange.receive(frame)
        case .offers: try pusher.offers.noticeExchange.receive(frame)
        }
      }
    }
    let ask = try reader.whole { (reader) throws(CodecError) in try FilterAsk(from: &reader) }
    try run { () throws(SyncError) in
      switch ask.role {
      case .haves: try pusher.offers.noticeExchange.receive(ask)
      case .offers: try puller.noticeExchange.receive(ask)
      }
    }
  }

  /// Processes frames of large transactions that resume the transfer of an earlier link.
  func receiveForTransfer(
    _ type: FrameType, _ reader: inout ByteReader, frameBytes: Int
  ) throws(FrameFailure) {
    if type == .staged {
      let notices = try reader.whole { (reader) throws(CodecError) in
        var notices: [StagedNotice] = []
        for _ in 0..<(try reader.readCount(minimumBytes: 9)) {
          notices.append(try StagedNotice(from: &reader))
        }
        return notices
      }
      try run { () throws(SyncError) in try pusher.queue.peerStages.receive(notices) }
    } else {
      let frame = try reader.whole { (reader) throws(CodecError) in try ReuseFrame(from: &reader) }
      puller.countAnswer()
      try run { () throws(SyncError) in try puller.receive(frame, frameBytes: frameBytes) }
    }
  }
}
