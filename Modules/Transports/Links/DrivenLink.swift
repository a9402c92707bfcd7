/// A link as a session's driver uses it: it calls where others wait, all on one executor.
protocol DrivenLink: AnyObject, Sendable {
  /// Where the link's own work is done, and its user's.
  var executor: any SessionExecutor { get }

  /// Whether both ends are on one machine.
  var isLocal: Bool { get }

  /// Hands everything that arrives to `user` from now on, what has arrived before first; call it once.
  ///
  /// The link lets go of its user when both directions have ended.
  func attach(_ user: any LinkUser)

  /// Queues pieces behind all earlier ones; from any thread, and at once when that is the executor's.
  func write(_ pieces: [[UInt8]])

  /// Says that the user may have room again.
  func resumeReading()

  /// Ends this direction behind what is queued; the user hears when that has gone out.
  func finishWriting()

  /// Closes both directions at once.
  func close(_ reason: LinkError)
}

/// Whom a driven link brings what it receives.
protocol LinkUser: AnyObject, Sendable {
  /// Takes what arrived; `here` says that the call is on the link's executor.
  func received(_ bytes: [UInt8], here: Bool)

  /// Whether more may be received; while it may not the line is not read, and the peer in turn waits.
  var hasRoom: Bool { get }

  /// One of the two directions is over, with an error unless it ended in order; once for each.
  func ended(_ direction: LinkDirection, _ error: LinkError?)
}

/// One of a link's two directions, as seen from here.
enum LinkDirection {
  case inbound
  case outbound
}
