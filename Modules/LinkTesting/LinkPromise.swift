/// What a link promises, each by a name; `Documentation/Links.md` has them in full.
public enum LinkPromise: String, CaseIterable, Sendable, CustomStringConvertible {
  // What arrives.
  /// Bytes arrive in the order in which they were written, each once, however they were cut.
  case bytesArriveInOrder
  /// Many writes of one byte each arrive.
  case singleBytesArrive
  /// One piece that is larger than all buffers arrives.
  case largePiecesArrive
  /// A write of a thousand pieces arrives, empty ones among them.
  case manyPiecesArrive
  /// Empty writes bring nothing and break nothing.
  case emptyWritesBringNothing
  /// Both directions carry at once.
  case bothDirectionsAtOnce
  /// What was written before the two users were attached comes first.
  case earlyBytesArrive
  /// Writes of several threads do not tear each other.
  case writesOfThreadsStayWhole
  /// A user may write inside its callbacks.
  case callbacksMayWrite
  /// The figures count what has gone through.
  case bytesAreCounted

  // Who is called.
  /// The executor runs what it is given one after another, in order, and knows its own thread.
  case executorRunsInOrder
  /// The user is called on the executor, one call at a time, and never with nothing.
  case callsComeOneAtATime

  // Back pressure.
  /// While the user has no room, only what was read before is still handed over.
  case noRoomStopsReading
  /// Once the user has room and says so, all the rest arrives.
  case roomResumesReading
  /// An end that has no room can still send.
  case noRoomLetsWrite
  /// While very much waits to be sent, nothing is received.
  case unsentBytesStopReading

  // The ends.
  /// The end of one direction comes behind its bytes and leaves the other direction open.
  case oneDirectionEnds
  /// An end that never writes can end its direction and receive.
  case silentDirectionEnds
  /// What is written behind the end of a direction is dropped, and a second end has no effect.
  case nothingFollowsTheEnd
  /// An end that closes hears that both its directions have ended, and so does the other one at the latest when it closes.
  case closeEndsBothDirections
  /// The end that was dialed can close as well.
  case eitherEndCloses
  /// Closing again has no effect, and nothing is sent by a link that is closed.
  case closingAgainHasNoEffect
  /// A close ends a link on which others are writing.
  case closeDuringWrites
  /// A close ends a link whose peer does not read.
  case closeOfAnUnreadLink
  /// A link that was closed before its user came tells it so.
  case closeBeforeTheUser
  /// A user may close inside its callbacks.
  case callbacksMayClose
  /// A link lets go of its user, and of itself, after both ends.
  case usersAreReleased

  public var description: String { rawValue }
}

/// A promise that a link did not keep.
public struct BrokenPromise: Hashable, Sendable, CustomStringConvertible {
  /// Which one.
  public let promise: LinkPromise
  /// What happened in place of it: one sentence.
  public let problem: String

  public var description: String { "\(promise): \(problem)" }
}
