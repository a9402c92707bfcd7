/// The promises of a link, each by a name; `Documentation/Links.md` has them in full.
public enum LinkPromise: String, CaseIterable, Sendable, CustomStringConvertible {
  // What arrives.
  /// Bytes arrive in the order in which they were written, each once, however the writes were split.
  case bytesArriveInOrder
  /// Many writes of one byte each arrive.
  case singleBytesArrive
  /// One piece that is larger than all buffers arrives.
  case largePiecesArrive
  /// A write of a thousand pieces arrives, empty ones among them.
  case manyPiecesArrive
  /// Empty writes deliver nothing and break nothing.
  case emptyWritesBringNothing
  /// Both directions can carry bytes at the same time.
  case bothDirectionsAtOnce
  /// Bytes that were written before the two users were attached arrive first.
  case earlyBytesArrive
  /// Writes of several threads are not interleaved within one write.
  case writesOfThreadsStayWhole
  /// A user may write inside its callbacks.
  case callbacksMayWrite
  /// The statistics count the bytes that were carried.
  case bytesAreCounted

  // Which calls are made.
  /// The executor runs its jobs one after another, in order, and recognises its own thread.
  case executorRunsInOrder
  /// The user is called on the executor, one call at a time, and never with empty data.
  case callsComeOneAtATime

  // Back pressure.
  /// While the user has no room, only bytes that were read before are still delivered.
  case noRoomStopsReading
  /// Once the user has room and calls `resumeReading`, all the rest arrives.
  case roomResumesReading
  /// An end that has no room can still send.
  case noRoomLetsWrite
  /// While very many bytes wait to be sent, nothing is received.
  case unsentBytesStopReading

  // The ends.
  /// The end of one direction arrives after its bytes and leaves the other direction open.
  case oneDirectionEnds
  /// An end that never writes can end its direction and still receive.
  case silentDirectionEnds
  /// Bytes written after the end of a direction are dropped, and a second end has no effect.
  case nothingFollowsTheEnd
  /// An end that closes is called with the end of both its directions.
  ///
  /// The other end is too, at the latest when it closes.
  case closeEndsBothDirections
  /// The end that was dialed can close as well.
  case eitherEndCloses
  /// Closing again has no effect, and a closed link sends nothing.
  case closingAgainHasNoEffect
  /// A close ends a link on which other threads are writing.
  case closeDuringWrites
  /// A close ends a link whose peer does not read.
  case closeOfAnUnreadLink
  /// A link that was closed before its user was attached reports that to the user.
  case closeBeforeTheUser
  /// A user may close inside its callbacks.
  case callbacksMayClose
  /// A link releases its user, and is released itself, after both ends.
  case usersAreReleased

  public var description: String { rawValue }
}

/// A promise that a link did not keep.
public struct BrokenPromise: Hashable, Sendable, CustomStringConvertible {
  /// The promise.
  public let promise: LinkPromise
  /// What happened instead: one sentence.
  public let problem: String

  public var description: String { "\(promise): \(problem)" }
}
