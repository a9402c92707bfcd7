/// An end that is over: it says so, answers whoever has not understood, and hands over what has arrived.
package struct DatagramFarewell: Sendable {
  /// What of a conversation lasts beyond its end.
  package struct Correspondence: Sendable {
    /// The tags of what the other end sends.
    let tags: DatagramTags
    /// The numbers that are expected next.
    let awaited: (data: Int64, next: Int64)
    /// Whether the other end has said that it is over.
    let isEnded: Bool
  }

  /// Why; `nil` where both directions ended in order.
  package let error: LinkError?
  /// What its user has not taken.
  package var unread: DatagramAssembler?
  /// Until when it answers.
  package let end: Duration
  private let correspondence: Correspondence?
  /// When to say it, and how long after that to say it again; `nil` where it is not to be said.
  private var nextClose: Duration?
  private var pause = DatagramLimits.helloPause
  /// Whether the other end may not know yet.
  private var answers: Bool

  /// Ends a conversation; where the two never met there is nobody to say it to.
  package init(
    _ error: LinkError?, _ conversation: DatagramConversation?, at now: Duration, for patience: Duration
  ) {
    self.error = error
    end = now + patience
    unread = conversation?.assembler
    correspondence = conversation?.correspondence
    nextClose = conversation == nil ? nil : now
    answers = correspondence?.isEnded == false
  }

  /// Stands in while a phase is at work.
  package static let placeholder = DatagramFarewell(nil, nil, at: .zero, for: .zero)

  /// Whether nothing is to be said or answered any more.
  package var isQuiet: Bool { nextClose == nil }

  /// Says once more that it is over, to an end that has said the same.
  package mutating func answer() { answers = false }

  /// Says and answers nothing any more.
  package mutating func silence() { (nextClose, answers) = (nil, false) }

  /// When `takePacket` has something.
  package var nextSend: Duration? { nextClose }

  /// Takes what the other end still sends.
  package mutating func receive(_ packet: [UInt8], at now: Duration) {
    guard answers, let correspondence, !DatagramPacket.isHello(packet) else { return }
    let packet = try? DatagramPacket(packet, correspondence.tags, awaited: correspondence.awaited)
    guard let packet else { return }
    if case .close = packet { silence() } else { nextClose = now }
  }

  /// What is to be said; again, until the other end says the same or time is over.
  package mutating func takePacket(at now: Duration) -> [UInt8]? {
    guard let correspondence, let due = nextClose, due <= now else { return nil }
    nextClose = answers ? now + pause : nil
    pause = min(pause * 2, DatagramLimits.longestHelloPause)
    return DatagramPacket.close(inOrder: error == nil).encoded(correspondence.tags.reversed)
  }
}

extension DatagramTags {
  /// Those of the other direction.
  package var reversed: DatagramTags { DatagramTags(sender: receiver, receiver: sender) }
}
