/// Two ends that have not met: each says hello until it knows that it was heard.
///
/// An end is met once a hello names its tag. Hellos of earlier links, which come late, name another one.
package struct DatagramMeeting: Sendable {
  private let own: DatagramHello
  /// When the other end has taken too long.
  package let deadline: Duration
  /// When the next hello goes out.
  package private(set) var nextHello: Duration
  private var pause = DatagramLimits.helloPause
  /// The hello that was heard last.
  package private(set) var peer: DatagramHello?

  /// Begins to say hello at `now`.
  package init(_ own: DatagramHello, within patience: Duration, at now: Duration) {
    self.own = own
    deadline = now + patience
    nextHello = now
  }

  /// The tags of what the other end sends; `nil` before it was heard.
  package var tags: DatagramTags? { peer.map { DatagramTags(sender: $0.tag, receiver: own.tag) } }

  /// Takes a hello.
  ///
  /// - Returns: Whether the ends have met.
  /// - Throws: `malformed` when it comes from this end itself or has no version in common with it.
  package mutating func receive(_ hello: DatagramHello, at now: Duration) throws(DatagramFault) -> Bool {
    guard hello.tag != own.tag else { throw .malformed("the radio hands back what is sent here") }
    guard hello.versions.overlaps(own.versions) else {
      throw .malformed("the other end speaks the versions \(hello.versions), this one \(own.versions)")
    }
    // It learns at once that it was heard, and not only when the pause is over.
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
