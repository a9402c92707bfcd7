/// An ordered, reliable stream in both directions over packets that may be lost, duplicated and reordered.
///
/// It is a state machine without I/O and without a clock. Its inputs are packets, bytes and the time; its
/// outputs are packets, bytes and ends. After each input its driver takes the packets to send and the bytes
/// to deliver.
package struct DatagramStream: Sendable {
  private enum Phase {
    case meeting(DatagramMeeting)
    case open(DatagramConversation)
    case over(DatagramFarewell)
  }

  private let options: DatagramOptions
  private let own: DatagramHello
  /// The other end's name in errors.
  private let name: String
  private var phase: Phase
  /// Bytes that were written before the ends had met.
  private var early: (pieces: [[UInt8]], byteCount: Int, isFinished: Bool) = ([], 0, false)
  private var damaged = 0
  /// The directions that are over, with an error unless they ended in order.
  package private(set) var ends: [LinkDirection: LinkError?] = [:]
  /// Packets that were dropped because their checksum was wrong.
  package private(set) var damagedPackets: UInt64 = 0

  /// Starts at `now`.
  ///
  /// - Parameters:
  ///   - packetBytes: The largest packet in bytes, brought within the limits.
  ///   - tag: A random number that distinguishes this end from earlier ones.
  ///   - name: The other end's name in errors.
  ///   - options: Windows and times.
  ///   - now: The time.
  package init(
    packetBytes: Int, tag: UInt32, name: String, options: DatagramOptions = DatagramOptions(),
    at now: Duration
  ) {
    let packetBytes = min(packetBytes, DatagramLimits.largestPacket)
    let window = min(
      DatagramLimits.window, max(DatagramLimits.smallestWindow, options.windowBytes / max(1, packetBytes)))
    self.options = options
    self.name = name
    own = DatagramHello(tag: max(1, tag), heard: 0, packetBytes: packetBytes, window: window, isMet: false)
    phase = .meeting(DatagramMeeting(own, within: options.helloDeadline, at: now))
    if packetBytes < DatagramLimits.smallestPacket {
      fail(
        LinkError(
          .system,
          "The radio to \(name) has packets of \(packetBytes) bytes; \(DatagramLimits.smallestPacket) are needed"
        ), at: now)
    }
  }

  // MARK: - What its user does

  /// Whether this end sends under this tag.
  package func speaks(as tag: UInt32) -> Bool { own.tag == tag }

  /// Queues bytes to be sent; drops them after the end of the direction.
  package mutating func write(_ pieces: [[UInt8]]) {
    if case .meeting = phase, !early.isFinished {
      early.pieces += pieces
      early.byteCount += pieces.reduce(0) { $0 + $1.count }
    }
    converse { $0.append(pieces) }
  }

  /// Ends this end's direction after what is queued.
  package mutating func finish() {
    early.isFinished = true
    converse { $0.finish() }
  }

  /// Ends both directions at once; drops what is queued and what was not taken.
  package mutating func close(_ reason: LinkError, at now: Duration) {
    if hasReceived { note(.inbound, reason) }
    _ = takeReceived(at: now)
    fail(reason, at: now)
  }

  /// Records that the radio no longer has a channel.
  package mutating func channelEnded(_ reason: String, at now: Duration) {
    fail(LinkError(.disconnected, "The radio to \(name) has ended: \(reason)"), at: now)
    depart { $0.silence() }
  }

  /// Bytes that were written and are in no packet yet.
  package var waitingBytes: Int {
    switch phase {
    case .meeting: early.byteCount
    case .open(let conversation): conversation.sender.waitingBytes
    case .over: 0
    }
  }

  /// Packets that are held here: sent and not acknowledged, or received and not taken.
  package var heldPackets: Int {
    switch phase {
    case .meeting: 0
    case .open(let conversation): conversation.sender.keptPackets + conversation.assembler.heldPackets
    case .over(let farewell): farewell.unread?.heldPackets ?? 0
    }
  }

  /// Bytes that have arrived in order; `nil` when there are none.
  package mutating func takeReceived(at now: Duration) -> [UInt8]? {
    var bytes: [UInt8]?
    converse { bytes = $0.take(at: now) }
    depart { bytes = $0.unread?.take(at: now) }
    settle(at: now)
    return bytes
  }

  /// Drops untaken bytes of a broken link; its end is reported instead.
  package mutating func dropIfBroken() {
    guard case .over(let farewell) = phase, let error = farewell.error, hasReceived else { return }
    note(.inbound, error)
    depart { $0.unread = nil }
  }

  /// Whether `takeReceived` has bytes.
  package var hasReceived: Bool {
    switch phase {
    case .meeting: false
    case .open(let conversation): conversation.assembler.hasReady
    case .over(let farewell): farewell.unread?.hasReady ?? false
    }
  }

  /// Whether nothing more is to be sent or answered.
  package var isQuiet: Bool { if case .over(let farewell) = phase { farewell.isQuiet } else { false } }

  // MARK: - The radio

  /// Takes a packet from an untrusted end.
  package mutating func receive(_ packet: [UInt8], at now: Duration) {
    judge(at: now) { (stream) throws(DatagramFault) in
      guard packet.count <= stream.own.packetBytes else {
        throw .malformed(
          "a packet of \(packet.count) bytes came, and \(stream.own.packetBytes) are the most here")
      }
      if case .meeting(let meeting) = stream.phase { try stream.meet(packet, meeting, at: now) }
      try stream.converse { (conversation) throws(DatagramFault) in
        try conversation.receive(packet, at: now)
      }
      stream.damaged = 0
      stream.depart { $0.receive(packet, at: now) }
    }
  }

  private mutating func meet(
    _ packet: [UInt8], _ meeting: DatagramMeeting, at now: Duration
  ) throws(DatagramFault) {
    guard DatagramPacket.isHello(packet) else {
      // The other end may know already that the two have met. Before its hello nobody can know whose packet
      // it is.
      guard let peer = meeting.peer, let tags = meeting.tags,
        (try? DatagramPacket(packet, tags, awaited: (0, 0))) != nil
      else { return }
      return open(with: peer, at: now)
    }
    guard case .hello(let hello) = try DatagramPacket(packet, .unknown, awaited: (0, 0)) else { return }
    var meeting = meeting
    let hasMet = try meeting.receive(hello, at: now)
    phase = .meeting(meeting)
    if hasMet { open(with: hello, at: now) }
  }

  private mutating func open(with peer: DatagramHello, at now: Duration) {
    var conversation = DatagramConversation(own: own, peer: peer, options, at: now)
    conversation.append(early.pieces)
    if early.isFinished { conversation.finish() }
    early = ([], 0, early.isFinished)
    phase = .open(conversation)
  }

  /// The packet to send now; `nil` when there is none.
  package mutating func nextPacket(at now: Duration) -> [UInt8]? {
    var packet: [UInt8]?
    if case .meeting(var meeting) = phase {
      packet = meeting.takeHello(at: now).map { DatagramPacket.hello($0).encoded(.unknown) }
      phase = .meeting(meeting)
    }
    converse { packet = $0.nextPacket(at: now) }
    depart { packet = $0.takePacket(at: now) }
    return packet
  }

  // MARK: - Time

  /// When `nextPacket` has a scheduled packet; `nil` when none is scheduled.
  package var nextSend: Duration? {
    switch phase {
    case .meeting(let meeting): meeting.nextHello
    case .open(let conversation): conversation.nextSend
    case .over(let farewell): farewell.nextSend
    }
  }

  /// When `tick` must be called next; `nil` for never.
  package var nextTick: Duration? {
    switch phase {
    case .meeting(let meeting): meeting.deadline
    case .open(let conversation): conversation.nextTick
    case .over(let farewell): farewell.isQuiet ? nil : farewell.end
    }
  }

  /// Advances the time.
  package mutating func tick(at now: Duration) {
    judge(at: now) { (stream) throws(DatagramFault) in
      if case .meeting(let meeting) = stream.phase, meeting.deadline <= now {
        throw .unanswered("nobody has said hello in time")
      }
      try stream.converse { (conversation) throws(DatagramFault) in try conversation.tick(at: now) }
      stream.depart { if $0.end <= now { $0.silence() } }
    }
  }

  // MARK: - The phases

  /// Changes the conversation in place, if there is one.
  private mutating func converse(
    _ body: (inout DatagramConversation) throws(DatagramFault) -> Void
  ) throws(DatagramFault) {
    guard case .open(var conversation) = phase else { return }
    // The phase releases the conversation meanwhile, so that nothing of it is copied.
    phase = .over(.placeholder)
    defer { phase = .open(conversation) }
    try body(&conversation)
  }

  private mutating func converse(_ body: (inout DatagramConversation) -> Void) {
    // The body does not throw, so nothing can fail.
    try? converse { (conversation) throws(DatagramFault) in body(&conversation) }
  }

  /// Changes the farewell, if there is one.
  private mutating func depart(_ body: (inout DatagramFarewell) -> Void) {
    guard case .over(var farewell) = phase else { return }
    phase = .over(.placeholder)
    body(&farewell)
    phase = .over(farewell)
  }

  /// Processes input from outside, and ends the link if the input violated the protocol.
  private mutating func judge(
    at now: Duration, _ body: (inout DatagramStream) throws(DatagramFault) -> Void
  ) {
    do throws(DatagramFault) {
      try body(&self)
    } catch {
      failed(error, at: now)
    }
    settle(at: now)
  }

  // MARK: - The end

  private mutating func failed(_ fault: DatagramFault, at now: Duration) {
    switch fault {
    case .damaged:
      damaged += 1
      damagedPackets += 1
      guard damaged >= DatagramLimits.damagedInARow else { return }
      fail(LinkError(.malformed, "\(damaged) packets in a row from \(name) are damaged"), at: now)
    case .malformed(let what): fail(LinkError(.malformed, "\(name) broke the rules: \(what)"), at: now)
    case .unanswered(let what):
      fail(LinkError(.timedOut, "The link to \(name) has ended: \(what)"), at: now)
    case .closed:
      fail(LinkError(.disconnected, "\(name) closed the link"), at: now)
      depart { $0.answer() }
    }
  }

  /// Ends the directions that have not ended, with an error.
  private mutating func fail(_ error: LinkError, at now: Duration) {
    switch phase {
    case .meeting: phase = .over(DatagramFarewell(error, nil, at: now, for: options.linger))
    case .open(let conversation):
      phase = .over(DatagramFarewell(error, conversation, at: now, for: options.linger))
    case .over: break
    }
    early = ([], 0, true)
    settle(at: now)
  }

  /// Records which directions have ended, and ends the conversation when both have.
  private mutating func settle(at now: Duration) {
    switch phase {
    case .meeting: break
    case .open(let conversation):
      if conversation.sender.isOver { note(.outbound, nil) }
      if conversation.assembler.isComplete, !conversation.assembler.hasReady { note(.inbound, nil) }
      if conversation.isDone {
        phase = .over(DatagramFarewell(nil, conversation, at: now, for: options.linger))
      }
    case .over(let farewell):
      note(.outbound, farewell.error)
      if farewell.unread?.hasReady != true {
        note(.inbound, farewell.unread?.isComplete == true ? nil : farewell.error)
      }
    }
  }

  private mutating func note(_ direction: LinkDirection, _ error: LinkError?) {
    if !ends.keys.contains(direction) { ends[direction] = .some(error) }
  }
}
