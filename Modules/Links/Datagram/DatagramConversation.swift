/// The state of two ends that have exchanged hellos.
///
/// It has both directions: what was sent, what was received, and what must be sent about both.
package struct DatagramConversation: Sendable {
  private let own: DatagramHello
  private let peer: DatagramHello
  private let packetBytes: Int
  package private(set) var sender: DatagramSender
  package private(set) var assembler: DatagramAssembler
  private var pulse: DatagramPulse
  private var owesHello: Bool
  private var stranger: (tag: UInt32, count: Int) = (0, 0)

  /// Starts a conversation; sends a hello to the other end unless that knows that it was heard (`isMet`).
  package init(
    own: DatagramHello, peer: DatagramHello, _ options: DatagramOptions, at now: Duration
  ) {
    self.own = own
    self.peer = peer
    packetBytes = min(own.packetBytes, peer.packetBytes)
    sender = DatagramSender(payloadBytes: packetBytes - DatagramPacket.dataOverhead, window: peer.window)
    assembler = DatagramAssembler(window: own.window)
    pulse = DatagramPulse(options, at: now)
    owesHello = !peer.isMet
  }

  /// The tags of packets from the other end.
  private var tags: DatagramTags { DatagramTags(sender: peer.tag, receiver: own.tag) }
  /// Whether the other end has said that both directions have ended in order.
  private var isEnded = false
  /// The state that remains for the farewell.
  package var correspondence: DatagramFarewell.Correspondence {
    DatagramFarewell.Correspondence(tags: tags, awaited: (assembler.next, sender.oldest), isEnded: isEnded)
  }
  /// Whether both directions have ended in order.
  package var isDone: Bool { sender.isOver && assembler.isComplete }

  package mutating func append(_ pieces: [[UInt8]]) { sender.append(pieces) }

  package mutating func finish() { sender.finish() }

  package mutating func take(at now: Duration) -> [UInt8]? { assembler.take(at: now) }

  // MARK: - Receiving

  /// Takes a packet from an untrusted end.
  ///
  /// - Throws: What is wrong with the packet; `closed` when the other end has closed the link.
  package mutating func receive(_ bytes: [UInt8], at now: Duration) throws(DatagramFault) {
    let packet = try DatagramPacket(bytes, tags, awaited: (assembler.next, sender.oldest))
    if case .hello(let hello) = packet { return try receive(hello, at: now) }
    stranger.count = 0
    pulse.heard(at: now)
    switch packet {
    case .data(let segment, let acknowledgement):
      if let acknowledgement { try sender.receive(acknowledgement, at: now) }
      try assembler.receive(segment, at: now)
    case .acknowledgement(let acknowledgement, let asks):
      try sender.receive(acknowledgement, at: now)
      if asks { assembler.callForAcknowledgement(at: now) }
    case .close(inOrder: true): try receiveEnd()
    case .close(inOrder: false): throw .closed
    case .hello: break
    }
    if !sender.isStarved { pulse.fed() }
  }

  private mutating func receive(_ hello: DatagramHello, at now: Duration) throws(DatagramFault) {
    guard hello.tag == peer.tag else {
      stranger = (hello.tag, hello.tag == stranger.tag ? stranger.count + 1 : 1)
      guard stranger.count < DatagramLimits.strangersInARow else {
        throw .unanswered("the other end has begun anew and knows nothing of this link")
      }
      return
    }
    pulse.heard(at: now)
    owesHello = owesHello || !hello.isMet
  }

  private mutating func receiveEnd() throws(DatagramFault) {
    guard assembler.isComplete, sender.hasSentEnd else {
      throw .malformed("the other end is over in order before both directions are")
    }
    sender.receiveEverything()
    isEnded = true
  }

  // MARK: - Sending

  /// The packet to send now; `nil` when there is none.
  package mutating func nextPacket(at now: Duration) -> [UInt8]? {
    takePacket(at: now)?.encoded(tags.reversed)
  }

  private mutating func takePacket(at now: Duration) -> DatagramPacket? {
    if owesHello {
      owesHello = false
      var hello = own
      (hello.heard, hello.isMet) = (peer.tag, true)
      return .hello(hello)
    }
    let asks = nextQuestion <= now
    let owesAcknowledgement = assembler.acknowledgementDue.map { $0 <= now } ?? false
    // An acknowledgement that names packets after a gap has no room for data.
    if asks || owesAcknowledgement && (assembler.hasGap || !sender.hasPacket) {
      if asks { pulse.asked(at: now, starving: sender.isStarved) }
      let room = packetBytes - DatagramPacket.acknowledgementOverhead
      return .acknowledgement(assembler.acknowledgement(atMost: room), asks: asks)
    }
    guard let segment = sender.take(at: now) else { return nil }
    let carries = assembler.acknowledgementDue != nil && !assembler.hasGap
    return .data(segment, carries ? assembler.acknowledgement(atMost: 0) : nil)
  }

  private var nextQuestion: Duration {
    pulse.nextQuestion(starving: sender.isStarved ? sender.patience : nil)
  }

  // MARK: - Time

  /// The time of the next scheduled packet.
  package var nextSend: Duration {
    min(nextQuestion, assembler.acknowledgementDue ?? nextQuestion)
  }

  /// When `tick` must be called next.
  package var nextTick: Duration { min(pulse.end, sender.deadline ?? pulse.end) }

  /// Advances the time.
  ///
  /// - Throws: `unanswered` when the other end no longer answers.
  package mutating func tick(at now: Duration) throws(DatagramFault) {
    guard now < pulse.end else { throw .unanswered("nothing was heard for too long") }
    try sender.tick(at: now)
  }
}
