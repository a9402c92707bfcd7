import LinkTesting

/// What can be wrong with a link, and which promise shows it.
enum LinkDefect: String, CaseIterable {
  case none
  case losesAPiece, doublesAPiece, reordersPieces, changesAByte
  case losesEarlyBytes, tearsWrites, handsOverNothing
  case dropsWritesInside, countsNothing
  case callsElsewhere, callsFromTwoThreads, executorKnowsNoThread, executorReorders
  case ignoresRoom, neverResumes, stopsBothWays, readsOnWhateverIsUnsent
  case tellsTheEndTwice, neverTellsTheEnd, receivesBehindTheEnd, finishClosesBoth, finishDropsWhatIsQueued
  case writesBehindTheEnd, closeIsNotTold, closeIsInOrder, writesBehindTheClose, closeBeforeTheUserIsForgotten
  case closeWaitsForTheReader, keepsItsUser

  var promise: LinkPromise? {
    switch self {
    case .none: nil
    case .losesAPiece, .doublesAPiece, .reordersPieces, .changesAByte: .bytesArriveInOrder
    case .losesEarlyBytes: .earlyBytesArrive
    case .tearsWrites: .writesOfThreadsStayWhole
    case .handsOverNothing: .emptyWritesBringNothing
    case .dropsWritesInside: .callbacksMayWrite
    case .countsNothing: .bytesAreCounted
    case .callsElsewhere, .callsFromTwoThreads: .callsComeOneAtATime
    case .executorKnowsNoThread, .executorReorders: .executorRunsInOrder
    case .ignoresRoom: .noRoomStopsReading
    case .neverResumes: .roomResumesReading
    case .stopsBothWays: .noRoomLetsWrite
    case .readsOnWhateverIsUnsent: .unsentBytesStopReading
    case .tellsTheEndTwice, .neverTellsTheEnd, .receivesBehindTheEnd, .finishClosesBoth: .oneDirectionEnds
    case .finishDropsWhatIsQueued: .largePiecesArrive
    case .writesBehindTheEnd: .nothingFollowsTheEnd
    case .closeIsNotTold, .closeIsInOrder: .closeEndsBothDirections
    case .writesBehindTheClose: .closingAgainHasNoEffect
    case .closeBeforeTheUserIsForgotten: .closeBeforeTheUser
    case .closeWaitsForTheReader: .closeOfAnUnreadLink
    case .keepsItsUser: .usersAreReleased
    }
  }
}
