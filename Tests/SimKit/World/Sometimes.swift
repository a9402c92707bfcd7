/// Points that a campaign of many seeds must reach at least once, beside those that the code itself names.
///
/// A campaign that misses one has proved less than it seems.
package enum Sometimes: String, CaseIterable, Sendable {
  case killedBetweenActions, killedBeforeExecution, killedWhenExecuted, killedWhenDurable,
    killedWithBytesUnderWay
  case doubtfulWasDurable, doubtfulWasLost
  case brokeWithinFrame, brokeUnheard, brokeHeardByOne, silenceWasNoticed, twoConnectionsAtOnce, stalled,
    sentAgain
  case cameTwice, cameTwiceInPart, cameNotAtAll, cameInAnotherOrder, cameWithAnotherBit, garblingWasNoticed,
    waitedForNoFrame
  case paused, clockWentBack, clockStood, clockFarAhead
  case scopeChangedInSession, scopeOpened, subscribedInSession, subscribedWhileCatchingUp
  case evictedUnderSubscription, evictedWithoutSubscription, commitsShared
  case overflowed, tooLargeToSend, restored, copied, forgotten, indexed, observed, caughtUp, metAgain,
    rotted
}
