extension LinkTrial {
  /// Checks one promise; users are closed and examined afterwards.
  func check(_ promise: LinkPromise) async {
    switch promise {
    case .bytesArriveInOrder: await bytesArriveInOrder()
    case .singleBytesArrive: await carry((0..<3_000).map { [PatternBytes.outward.bytes(1, from: $0)] })
    case .largePiecesArrive: await carry([[PatternBytes.outward.bytes(2 * options.volume, from: 0)]])
    case .manyPiecesArrive: await manyPiecesArrive()
    case .emptyWritesBringNothing: await emptyWritesBringNothing()
    case .bothDirectionsAtOnce: await bothDirectionsAtOnce()
    case .earlyBytesArrive: await earlyBytesArrive()
    case .writesOfThreadsStayWhole: await writesOfThreadsStayWhole()
    case .callbacksMayWrite: await callbacksMayWrite()
    case .bytesAreCounted: await bytesAreCounted()
    case .executorRunsInOrder: await executorRunsInOrder()
    case .callsComeOneAtATime: await callsComeOneAtATime()
    case .noRoomStopsReading: await noRoomStopsReading()
    case .roomResumesReading: await roomResumesReading()
    case .noRoomLetsWrite: await noRoomLetsWrite()
    case .unsentBytesStopReading: await unsentBytesStopReading()
    case .oneDirectionEnds: await oneDirectionEnds()
    case .silentDirectionEnds: await silentDirectionEnds()
    case .nothingFollowsTheEnd: await nothingFollowsTheEnd()
    case .closeEndsBothDirections: await closeEndsBothDirections(closingFar: false)
    case .eitherEndCloses: await closeEndsBothDirections(closingFar: true)
    case .closingAgainHasNoEffect: await closingAgainHasNoEffect()
    case .closeDuringWrites: await closeDuringWrites()
    case .closeOfAnUnreadLink: await closeOfAnUnreadLink()
    case .closeBeforeTheUser: await closeBeforeTheUser()
    case .callbacksMayClose: await callbacksMayClose()
    case .usersAreReleased: await usersAreReleased()
    }
  }
}
