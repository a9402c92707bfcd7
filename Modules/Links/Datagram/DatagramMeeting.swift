/// Two ends before they have met: each sends hellos until it knows that the other has heard it.
///
/// An end has met the other once a hello names its tag. Late hellos of earlier links name another tag.
package struct DatagramMeeting: Sendable {
  private let own: DatagramHello
  /// When the other end has taken too long.
  package let deadline: Duration
  /// When the next hello is sent.
  package private(set) var nextHello: Duration
  private var pause = DatagramLimits.helloPause
  /// The latest hello that was received.
  package private(set) var peer: DatagramHello?

  /// Starts to send hellos at `now`.
  package init(_ own: DatagramHello, within patience: Duration, at now: Duration) {
    self.own = own
    deadline = now + patience
    nextHello = now
  }

  /// The tags of packets from the other end; `nil` before its hello.
  package var tags: DatagramTags? { peer.map { DatagramTags(sender: $0.tag, receiver: own.tag) } }

  /// Takes a hello.
  ///
  /// - Returns: Whether the ends have met.
  /// - Throws: `malformed` when it comes from this end itself, or when the ends have no common version.
  package mutating func receive(_ hello: DatagramHello, at now: Duration) throws(DatagramFault) -> Bool {
    guard hello.tag != own.tag else { throw .malformed("the radio hands back what is sent here") }
    guard hello.versions.overlaps(own.versions) else {
      throw .malformed("the other end speaks the versions \(hello.versions), this one \(own.versions)")
    }
    // The other end learns at once that it was heard, and not only when the pause is over.
    if peer?.tag != hello.tag { nextHello = now }
    peer = hello
    return hello.heard == own.tag
  }

  /// The hello that is due; the next one follows after a longer pause.
  package mutating func takeHello(at now: Duration) -> DatagramHello? {
    guard nextHello <= now else { return nil }
    nextHello = now + pause
    pause = min(pause * 2, DatagramLimits.longestHelloPause)
    var hello = own
    hello.heard = peer?.tag ?? 0
    return hello
  }
}
