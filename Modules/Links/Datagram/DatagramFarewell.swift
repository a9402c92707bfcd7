/// An end that is over.
///
/// It sends closes, answers late packets and delivers what has arrived.
package struct DatagramFarewell: Sendable {
  /// The part of a conversation that is still needed after its end.
  package struct Correspondence: Sendable {
    /// The tags of packets from the other end.
    let tags: DatagramTags
    /// The numbers that are expected next.
    let awaited: (data: Int64, next: Int64)
    /// Whether the other end has said that it is over.
    let isEnded: Bool
  }

  /// Why the link ended; `nil` when both directions ended in order.
  package let error: LinkError?
  /// Received bytes that the user has not taken.
  package var unread: DatagramAssembler?
  /// Until when this end answers.
  package let end: Duration
  private let correspondence: Correspondence?
  /// When the next close is sent, and the pause after it; `nil` when none is sent.
  private var nextClose: Duration?
  private var pause = DatagramLimits.helloPause
  /// Whether the other end may not know yet that the link is over.
  private var answers: Bool

  /// Ends a conversation; without one there is nobody to send a close to.
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

  /// A placeholder while a phase is being changed.
  package static let placeholder = DatagramFarewell(nil, nil, at: .zero, for: .zero)

  /// Whether nothing more is to be sent or answered.
  package var isQuiet: Bool { nextClose == nil }

  /// Sends one last close, to an end that has sent one too.
  package mutating func answer() { answers = false }

  /// Stops sending and answering.
  package mutating func silence() { (nextClose, answers) = (nil, false) }

  /// When `takePacket` has a packet.
  package var nextSend: Duration? { nextClose }

  /// Takes a packet that the other end still sends.
  package mutating func receive(_ packet: [UInt8], at now: Duration) {
    guard answers, let correspondence, !DatagramPacket.isHello(packet) else { return }
    let packet = try? DatagramPacket(packet, correspondence.tags, awaited: correspondence.awaited)
    guard let packet else { return }
    if case .close = packet { silence() } else { nextClose = now }
  }

  /// The close that is due; repeated until the other end sends one or time is over.
  package mutating func takePacket(at now: Duration) -> [UInt8]? {
    guard let correspondence, let due = nextClose, due <= now else { return nil }
    nextClose = answers ? now + pause : nil
    pause = min(pause * 2, DatagramLimits.longestHelloPause)
    return DatagramPacket.close(inOrder: error == nil).encoded(correspondence.tags.reversed)
  }
}

extension DatagramTags {
  /// The tags of the other direction.
  package var reversed: DatagramTags { DatagramTags(sender: receiver, receiver: sender) }
}
