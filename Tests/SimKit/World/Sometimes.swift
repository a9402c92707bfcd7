/// What a campaign of many seeds must have met at least once, or it has proved less than it seems: beside the points
/// that the code itself names.
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
